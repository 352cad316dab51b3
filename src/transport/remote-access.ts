// The words between a store and a remote: how a remote is reached, what it has, what is fetched and
// pushed. Types alone.

import type { OutgoingPack, PackExchange, ReceivedPack, ReceiveLimits } from '../git/exchange.ts'
import type { Oid } from '../git/objects/object.ts'

/** Who we are to a host; `attempt` counts from 1, and grows when an answer was not accepted. */
export type CredentialSource = (request: {
  readonly url: string
  readonly attempt: number
}) => Promise<Credentials | undefined>

export interface Credentials {
  readonly username: string
  readonly password: string
}

/** Where a remote is and how this machine may talk to it. */
export interface RemoteAccess {
  /** As `parseRemoteUrl` accepts it. */
  readonly url: string
  /** Asked when a host wants to know who we are; by default GITLOCKET_TOKEN, then git's helpers. */
  readonly credentials?: CredentialSource | undefined
  /** Program and arguments instead of `ssh`, as git's core.sshCommand. */
  readonly sshCommand?: readonly string[] | undefined
  readonly signal?: AbortSignal | undefined
  /** How long nothing may move before `remote_timeout`; 60 s by default. */
  readonly timeoutMs?: number | undefined
  /** PEM of authorities to trust beside those of the platform. */
  readonly certificateAuthorities?: string | undefined
  /** Allows http:// to other machines, where everybody on the way reads and changes. */
  readonly allowHttp?: boolean | undefined
  /** Of the process: PATH, HOME, SSH_AUTH_SOCK and the like. Nothing is read from elsewhere. */
  readonly environment?: ProcessEnvironment | undefined
  /** Lines that the remote prints for people, made harmless. */
  readonly onMessage?: ((text: string) => void) | undefined
}

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>

export interface RemoteRefs {
  /** refs/heads/main; undefined if the remote has no such branch. */
  readonly head: Oid | undefined
  /** How many other refs there are. */
  readonly others: number
  readonly capabilities: ReadonlySet<string>
}

/** Bytes while a pack travels, objects while it is checked. */
export interface TransferProgress {
  readonly phase: 'receiving' | 'checking' | 'sending'
  readonly done: number
  readonly total: number | undefined
}

export interface FetchRequest {
  /** A commit that the remote has just advertised. */
  readonly want: Oid
  /** Commits that are here with all that they lead to, the newest first. */
  readonly haves: readonly Oid[]
  /** Where the objects go: `exchange` of the object store. */
  readonly into: PackExchange
  readonly limits?: Partial<ReceiveLimits> | undefined
  readonly progress?: ((progress: TransferProgress) => void) | undefined
}

export interface PushRequest {
  /** The lease: nothing is sent unless the remote's branch is there. */
  readonly expected: Oid | undefined
  readonly next: Oid
  /** Every object of `next` that `expected` does not lead to. */
  readonly pack: OutgoingPack
  readonly progress?: ((progress: TransferProgress) => void) | undefined
}

/** One conversation with a remote. Close it in any case; it serves one fetch or push. */
export interface FetchConnection {
  readonly refs: RemoteRefs
  fetch(request: FetchRequest): Promise<ReceivedPack>
  close(): Promise<void>
}

export interface PushConnection {
  readonly refs: RemoteRefs
  push(request: PushRequest): Promise<void>
  close(): Promise<void>
}
