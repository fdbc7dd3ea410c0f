/** Where a door is: a unix socket, or host and port (IPv6 in brackets). */
export type ListenAddress = { readonly path: string } | { readonly host: string; readonly port: number };

/** Reads `unix:/path` or `host:port`. Port 0 lets the kernel choose. @throws {Error} naming the text when it is neither */
export function parseListenAddress(text: string): ListenAddress {
  if (text.startsWith('unix:/')) return { path: text.slice('unix:'.length) };
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:\s/[\]]+)):([0-9]{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535) throw new Error(`"${text}" is not an address; write unix:/path or host:port`);
  return { host, port };
}
