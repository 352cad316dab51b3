// The order of requests on one connection. A client may send them without waiting for answers; each
// is then looked at when the answer before it has left. So a client that reads nothing has one
// answer made, not one for each request, and a request sees what the one before it has done.

import type { IncomingMessage, ServerResponse } from 'node:http'

export class Turns {
  readonly #latest: WeakMap<IncomingMessage['socket'], ServerResponse> = new WeakMap()

  /** Calls `act` when it is its turn; never if the connection ends before. */
  take({ socket }: IncomingMessage, outgoing: ServerResponse, act: () => void): void {
    const ahead = this.#latest.get(socket)
    this.#latest.set(socket, outgoing)
    if (ahead === undefined || ahead.writableFinished) {
      act()
      return
    }
    ahead.once('close', () => {
      if (!socket.destroyed) act()
    })
  }
}
