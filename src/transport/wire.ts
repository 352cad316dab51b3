// One conversation with one service of a remote, in the shape that isomorphic-git's GitRemoteHTTP
// talks to: a GET for what there is, then at most one POST. Over https that is what happens; over
// ssh and local paths both go to one process.

import type { HttpClient } from 'isomorphic-git/managers'
import type { StoreError } from '../errors.ts'

export type Service = 'git-upload-pack' | 'git-receive-pack'

export type Request = Parameters<HttpClient['request']>[0]
export type Response = Awaited<ReturnType<HttpClient['request']>>

export interface Wire extends HttpClient {
  /** What to give GitRemoteHTTP as URL. */
  readonly url: string
  /** What must not be shown: passwords that were used. */
  readonly secrets: readonly string[]
  /** What to think of an answer that ended too early, if the wire knows more. */
  explain(): Promise<StoreError | undefined>
  close(): Promise<void>
}

/** An advertisement of a thousand times as many refs as a store has. */
export const advertisementBytesMax: number = 16 * 1024 * 1024

/** A body of one piece. */
export async function* wholeBody(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
