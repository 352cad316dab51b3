// The order of requests on one connection. A client may send some without waiting for answers; each
// is then looked at when the answer before it has left. So a client that reads nothing has one
// answer made, not one for each request, and a request sees what the one before it has done.

import type { IncomingMessage, ServerResponse } from 'node:http'

/** On one connection: each takes some kilobytes, before anybody has looked at its credential. */
const waitingMax = 32

interface Line {
  last: ServerResponse
  waiting: number
}

export class Turns {
  readonly #lines: WeakMap<IncomingMessage['socket'], Line> = new WeakMap()

  /** Calls `act` when it is its turn; never if the connection ends before. */
  take({ socket }: IncomingMessage, outgoing: ServerResponse, act: () => void): void {
    const line = this.#lines.get(socket)
    if (line === undefined || line.last.writableFinished) {
      this.#lines.set(socket, { last: outgoing, waiting: 0 })
      act()
      return
    }
    // To read no more of them is not enough: Node continues after each request that it has parsed.
    if (line.waiting >= waitingMax) {
      socket.destroy()
      return
    }
    const ahead = line.last
    line.last = outgoing
    line.waiting += 1
    ahead.once('close', () => {
      line.waiting -= 1
      if (!socket.destroyed) act()
    })
  }
}
