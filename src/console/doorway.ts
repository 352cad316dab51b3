// Whether a request comes from a page of this console at all, from its headers alone. A name that
// an attacker's DNS lets point here (rebinding) is refused, and whatever another page asks.

import { StoreError } from '../errors.ts'

/** How this console is called, exactly; nothing that begins or ends so. */
export function hostsOf(port: number): ReadonlySet<string> {
  return new Set([`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`])
}

/** Throws `permission_denied`. */
export function checkDoorway(request: Request, hosts: ReadonlySet<string>): void {
  const { headers, method } = request
  const host = headers.get('host') ?? ''
  // A target that names a host counts, too (RFC 9112, 3.2.2).
  if (!hosts.has(host) || new URL(request.url).host !== host) {
    throw refused('The console is not reached by this host name')
  }
  const origin = headers.get('origin')
  if (origin !== null && origin !== `http://${host}`) {
    throw refused('The console takes no requests of this origin')
  }
  const site = headers.get('sec-fetch-site')
  // `none` is what the user opens: it may get the page, which holds nothing, and ask nothing.
  const sites = method === 'GET' || method === 'HEAD' ? ['same-origin', 'none'] : ['same-origin']
  if (site !== null && !sites.includes(site)) {
    throw refused('The console takes no requests of other sites')
  }
}

function refused(message: string): StoreError {
  return new StoreError('permission_denied', message)
}
