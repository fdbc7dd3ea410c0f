import { AdminApi } from './admin-api.ts';
import { ClientApi } from './client-api.ts';
import { HttpClient } from './http-client.ts';
import type { Target } from './tls-connection.ts';

/** How to reach an appliance from outside: one address, three names. */
export interface ApplianceAddress {
  /** `HOST:PORT` of the public port. */
  readonly connect: string;
  readonly apiName: string;
  readonly imName: string;
  readonly adminName: string;
  /** PEM. Undefined: the certificates are signed by a public authority. */
  readonly ca: string | undefined;
}

/** The three doors of one appliance. */
export class Appliance {
  readonly api: ClientApi;
  readonly admin: AdminApi;
  readonly im: Target;
  readonly http: { readonly api: HttpClient; readonly admin: HttpClient };

  constructor({ connect, apiName, imName, adminName, ca }: ApplianceAddress) {
    this.http = {
      api: new HttpClient({ connect, servername: apiName, ca }),
      admin: new HttpClient({ connect, servername: adminName, ca }),
    };
    this.api = new ClientApi(this.http.api);
    this.admin = new AdminApi(this.http.admin);
    this.im = { connect, servername: imName, ca };
  }

  /** Drops kept connections, so that the process can end. */
  close(): void {
    this.http.api.close();
    this.http.admin.close();
  }
}
