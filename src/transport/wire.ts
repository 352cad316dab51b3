// One conversation with a service of a remote, as the HTTP client that isomorphic-git's
// GitRemoteHTTP expects: a GET for the refs, then at most one POST. Over ssh and local paths, both
// go to one process.

import type { HttpClient } from 'isomorphic-git/managers'
import { StoreError } from '../errors.ts'
import { MEBIBYTE } from '../limits.ts'

export type Service = 'git-upload-pack' | 'git-receive-pack'

export type Request = Parameters<HttpClient['request']>[0]
export type Response = Awaited<ReturnType<HttpClient['request']>>

export interface Wire extends HttpClient {
  /** The URL to pass to GitRemoteHTTP. */
  readonly url: string
  /** Passwords that were used, which must not be shown. */
  readonly secrets: readonly string[]
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
