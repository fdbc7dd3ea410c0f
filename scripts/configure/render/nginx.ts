import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NginxLayout } from '../layout.ts';

/** The templates: what is written there is what Nginx reads, but for `{{words}}`. */
export const NGINX_TEMPLATES = join(import.meta.dirname, '../../../nginx');
export const NGINX_FILES = ['nginx.conf', 'stream/443.conf', 'http/api.conf', 'http/admin.conf'] as const;

export interface NginxOptions {
  /** First line of every file. */
  readonly generated: string;
  readonly layout: NginxLayout;
  readonly names: Readonly<Record<'api' | 'im' | 'admin', string>>;
  readonly certificates: Readonly<Record<'api' | 'admin', { readonly certFile: string; readonly keyFile: string }>>;
  /** `unix:/path` or `host:port`. */
  readonly addresses: { readonly imTls: string; readonly apiHttp: string; readonly adminHttp: string };
  readonly maxBodyBytes: number;
  /** Networks that may see /internal/ of each name; none = nobody. */
  readonly internalNetworks: Readonly<Record<'api' | 'admin', readonly string[]>>;
}

/** Texts of Nginx's files by their path below `nginx/`. @throws when an address is a name and there is no name server to ask again */
export async function nginxFiles(options: NginxOptions): Promise<ReadonlyMap<(typeof NGINX_FILES)[number], string>> {
  const words = { ...sharedWords(options), ...siteWords('api', options), ...siteWords('admin', options) };
  const files = await Promise.all(
    NGINX_FILES.map(async (path) => {
      const site = path === 'http/api.conf' ? 'api' : 'admin';
      const text = await readFile(join(NGINX_TEMPLATES, path), 'utf8');
      return [path, fill(text, { ...words, internal_networks: internalNetworks(site, options) }, path)] as const;
    }),
  );
  return new Map(files);
}

type Words = Readonly<Record<string, string>>;

function sharedWords({ generated, layout, names, addresses, maxBodyBytes }: NginxOptions): Words {
  const { run, listenPort, isIpv6, streamModule, workerUser } = layout;
  return {
    generated,
    load_module: streamModule === undefined ? '' : `load_module ${streamModule};`,
    worker_user: workerUser === undefined ? '' : `user ${workerUser};`,
    run,
    resolver: resolverLine(layout, Object.values(addresses)),
    max_body_size: maxBodyBytes.toString(),
    im_name: names.im,
    im_address: addresses.imTls,
    listen: [
      `listen ${listenPort} reuseport so_keepalive=on;`,
      ...(isIpv6 ? [`listen [::]:${listenPort} reuseport ipv6only=on so_keepalive=on;`] : []),
    ].join('\n  '),
  };
}

function siteWords(site: 'api' | 'admin', { layout, names, certificates, addresses }: NginxOptions): Words {
  return {
    [`${site}_name`]: names[site],
    [`${site}_socket`]: `${layout.run}/nginx-${site}.sock`,
    [`${site}_certificate`]: certificates[site].certFile,
    [`${site}_key`]: certificates[site].keyFile,
    [`${site}_proxy_pass`]: proxyPass(site === 'api' ? addresses.apiHttp : addresses.adminHttp),
  };
}

/** A name in a variable is looked up again when its answer has aged; a name in the text only when Nginx starts. No URI part, so the request's own bytes go on. */
function proxyPass(address: string): string {
  return isName(address) ? `set $service http://${address};\n    proxy_pass $service;` : `proxy_pass http://${address};`;
}

function resolverLine({ resolver }: NginxLayout, addresses: readonly string[]): string {
  const named = addresses.filter(isName);
  if (named.length === 0) return '';
  if (resolver === undefined) throw new Error(`${named.join(', ')}: a name needs a resolver, or its old address is kept for ever`);
  return `resolver ${resolver} valid=5s ipv6=off;`;
}

/** `nginx -t` finds nothing wrong with a name that it will never look up. */
export function isName(address: string): boolean {
  return !address.startsWith('unix:') && !/^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:]+\]):\d+$/.test(address);
}

function internalNetworks(site: 'api' | 'admin', { internalNetworks: networks }: NginxOptions): string {
  const lines = networks[site].map((network) => `  ${network} 1;`);
  return [`geo $${site}_internal_allowed {`, '  default 0;', ...lines, '}'].join('\n');
}

function fill(text: string, words: Words, path: string): string {
  const filled = text.replace(/\{\{(\w+)\}\}/g, (_, word: string) => {
    const value = words[word];
    if (value === undefined) throw new Error(`nginx/${path}: nothing is known for {{${word}}}`);
    return value;
  });
  return filled.replace(/^[ \t]+\n/gm, '').replace(/\n{3,}/g, '\n\n');
}
