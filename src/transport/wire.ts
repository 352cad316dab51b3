// One conversation with a service of a remote: the list of refs, then at most one request. Over
// https each is a request of its own; over ssh and local paths, both go to one process.

import { StoreError } from '../errors.ts'
import { MEBIBYTE } from '../limits.ts'
import type { PacketReader } from './pkt-line.ts'

export type Service = 'git-upload-pack' | 'git-receive-pack'

export interface Wire {
  /** Passwords that were used, which must not be shown. */
  readonly secrets: readonly string[]
  /** Asks for the refs: packets that begin with the list. */
  list(): Promise<PacketReader>
  /** Sends the request of `length` bytes; resolves to the answer when it begins. */
  send(body: AsyncIterable<Uint8Array>, length: number): Promise<AsyncIterable<Uint8Array>>
  /** Why an answer ended early, if the wire knows. */
  explain(): Promise<StoreError | undefined>
  close(): Promise<void>
}

/** Ten thousand refs; the repository of a store has a few. */
export const advertisementBytesMax: number = MEBIBYTE

export function tooManyRefs(): StoreError {
  return new StoreError(
    'remote_protocol',
    'The remote lists more refs than 1 MiB holds: give the store a repository of its own, or ' +
      'remove branches and tags there',
  )
}

/** A body of one chunk. */
export async function* wholeBody(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
