// The requests that a client sends on one connection without waiting for answers.

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Turns } from '../../../src/server/listener.ts'
import { patience } from '../../support/patience.ts'

const REQUEST = 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'

/** A server that answers a request with its number, once it is told to; and a client of it. */
async function connected() {
  const turns = new Turns()
  const acting: ServerResponse[] = []
  const counts = { seen: 0, answered: 0 }
  const gate = { isOpen: false }
  const answer = (outgoing: ServerResponse): void => {
    counts.answered += 1
    outgoing.end(`[${counts.answered}]`)
  }
  const server = createServer((incoming, outgoing) => {
    counts.seen += 1
    turns.take(incoming, outgoing, () => {
      if (gate.isOpen) answer(outgoing)
      else acting.push(outgoing)
    })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  const address = server.address()
  const client = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1')
  await once(client, 'connect')
  const open = (): void => {
    gate.isOpen = true
    for (const outgoing of acting) answer(outgoing)
  }
  return { client, counts, open }
}

test('keeps few: a client that sends more without waiting is cut off', async () => {
  const { client, counts } = await connected()
  client.on('error', () => undefined)
  const closed = new Promise((resolve) => client.once('close', resolve))
  // As many as come in one piece are parsed.
  client.write(REQUEST.repeat(50_000))
  await closed
  expect(counts.seen).toBeLessThan(50_000)
})

test('some are answered in their order', async () => {
  const { client, counts, open } = await connected()
  client.write(REQUEST.repeat(31))
  client.write(REQUEST.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'))
  await vi.waitFor(() => expect(counts.seen).toBe(32), patience)
  open()
  const numbers = (await text(client)).match(/(?<=\[)\d+/g)
  expect(numbers?.map(Number)).toEqual(Array.from({ length: 32 }, (_, index) => index + 1))
})
