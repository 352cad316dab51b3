// The stores that a console shows: one store as its member sees it or as an auditor does, or those
// of a server for the operator of its machine. All that its listener knows: it asks by name, with
// whatever the page has sent.

import type { WorkOptions } from '../../async.ts'
import type { Clock } from '../../clock.ts'
import { StoreError } from '../../errors.ts'
import type { Operator } from '../../hosting/host.ts'
import { sleep } from '../../platform/timers.ts'
import { type Audit, type AuditOptions, auditStore } from '../../store/audit/audit.ts'
import { findCloneHead, listRemotes } from '../../store/clone-remotes.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { devicesOfTrail, listReportedDevices } from '../../store/report/access-events.ts'
import { reportAsAuditor } from '../../store/report/audit-report.ts'
import type { StoreChange } from '../../store/watch.ts'
import { type Access, checkAccess, type OperationDefinition } from '../operation.ts'
import { parseInput } from '../schemas.ts'
import { auditOperationsIn, type AuditSource } from './audit.ts'
import type { InputOf, QuestionName, ResultOf } from './contract.ts'
import { type ConsoleContext, readingIn, type SignReport } from './operation.ts'
import { operations } from './operations.ts'
import type { Overview } from './store.ts'

export interface ConsoleSubject {
  /** Answers a question of contract.ts. Rejects with StoreErrors alone, bugs apart. */
  readonly ask: (name: string, input: unknown, work: WorkOptions) => Promise<unknown>
  readonly watch: (signal: AbortSignal) => AsyncIterable<StoreChange, void>
}

/** A store that a console shows, as a list has it. */
export interface ConsoleStore {
  /** `memstore_…` */
  readonly storeId: string
  readonly name: string
}

/** The stores of one console: one, or those of a server. */
export interface ConsoleSubjects {
  /** The list of a server, possibly empty; undefined for a console of one store. */
  readonly stores: () => Promise<readonly ConsoleStore[] | undefined>
  /** The only one, if none is named; undefined for one that there is not. */
  readonly find: (storeId: string | undefined) => Promise<ConsoleSubject | undefined>
}

/** The subjects of a console that shows one store. */
export function onlySubject(subject: ConsoleSubject): ConsoleSubjects {
  return {
    stores: async () => undefined,
    find: async (storeId) => (storeId === undefined ? subject : undefined),
  }
}

/** What all questions of one console share. */
export type ConsoleUser = Omit<ConsoleContext, 'work'>

/** An operation of any question: names and types have been compared where the maps are. */
interface AnyOperation<Context> extends Pick<
  OperationDefinition<unknown, unknown, Context>,
  'name' | 'effect' | 'input'
> {
  run(context: Context, input: unknown): Promise<unknown>
}

/** A store that is open, for its member. */
export function memberSubject(user: ConsoleUser): ConsoleSubject {
  return {
    ask: (name, input, work) => answer(operations, name, input, user.access, { ...user, work }),
    watch: (signal) => user.store.watch({ signal }),
  }
}

/** Throws `not_found`, `invalid_input`, `read_only`, and what the operation does. */
async function answer<Context>(
  answered: Partial<Readonly<Record<QuestionName, AnyOperation<Context>>>>,
  name: string,
  input: unknown,
  access: Access,
  context: Context,
): Promise<unknown> {
  const found = Object.hasOwn(answered, name) ? Reflect.get(answered, name) : undefined
  if (found === undefined) throw new StoreError('not_found', 'There is no such question')
  const operation: AnyOperation<Context> = found
  checkAccess(operation, access)
  return operation.run(context, parseInput(operation.input, input))
}

/** Where the trail is, and who audits it. */
interface AuditorUser {
  readonly places: Omit<AuditOptions, 'progress' | 'signal'>
  readonly clock: Clock
  readonly sign: SignReport
}

interface AuditorContext extends AuditorUser {
  readonly work: WorkOptions
}

type AuditorAnswer<Name extends QuestionName> = OperationDefinition<
  InputOf<Name>,
  ResultOf<Name>,
  AuditorContext
>

const reading = readingIn<AuditorContext>()

export function auditorSubject(user: AuditorUser): ConsoleSubject {
  return {
    ask: (name, input, work) =>
      answer(auditorOperations, name, input, 'read_only', { ...user, work }),
    // What others write is seen when it is asked for.
    watch: (signal) => untilAborted(signal),
  }
}

const auditorOperations = {
  'store.overview': reading({}, async (context): Promise<Overview> => {
    const found = await auditOf(context)
    const devices = listReportedDevices(found.entries)
    const remotes = await listRemotes(context.places.directory)
    return {
      storeId: found.storeId,
      name: '',
      description: '',
      audience: 'auditor',
      access: 'read_only',
      archivedAt: undefined,
      deviceId: found.deviceId,
      deviceName: devices.find(({ deviceId }) => deviceId === found.deviceId)?.name ?? '',
      role: found.role,
      head: found.head,
      headFingerprint: found.headFingerprint,
      commits: found.entries.length,
      memories: found.memories,
      contentBytes: 0,
      remotes: remotes.map(({ name, url }) => ({ name, url })),
      guard: false,
    }
  }),

  'devices.list': reading({}, async (context) => ({
    devices: devicesOfTrail(await auditOf(context)),
  })),

  ...auditOperationsIn(sourceOf),
} satisfies { readonly [Name in QuestionName]?: AuditorAnswer<Name> }

function auditOf({ places, work }: AuditorContext): Promise<Audit> {
  return auditStore({ ...places, ...work })
}

function sourceOf({ places, sign, clock, work }: AuditorContext): AuditSource {
  return {
    key: places,
    audit: (how) => auditStore({ ...places, ...how }),
    report: (input) => reportAsAuditor({ ...places, ...work }, input),
    sign,
    head: () => findCloneHead(places.directory),
    clock,
    work,
  }
}

function untilAborted(signal: AbortSignal): AsyncIterable<never, void> {
  const ended = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
    if (signal.aborted) resolve()
  })
  const next = async (): Promise<IteratorResult<never, void>> => {
    await ended
    return { done: true, value: undefined }
  }
  return { [Symbol.asyncIterator]: () => ({ next }) }
}

/** How often it is looked for what others have written. */
const EVERY_MS = 1000

/** `userOf` names the user of a store. */
export function hostedSubjects(
  operator: Operator,
  userOf: (store: MemoryStore) => ConsoleUser,
): ConsoleSubjects {
  const subjectOf = (storeId: string): ConsoleSubject => ({
    ask: (name, input, work) =>
      operator.use(storeId, (store) => memberSubject(userOf(store)).ask(name, input, work)),
    watch: (signal) => changesOf(operator, storeId, signal),
  })
  return {
    stores: async () => (await operator.stores()).map(({ storeId, name }) => ({ storeId, name })),
    find: async (storeId) => {
      const store = storeId === undefined ? undefined : await operator.find(storeId)
      return store && subjectOf(store.storeId)
    },
  }
}

/** A watch that is kept would keep the store from being closed, or deleted. */
async function* changesOf(
  operator: Operator,
  storeId: string,
  signal: AbortSignal,
): AsyncGenerator<StoreChange, void> {
  let told = await operator.use(storeId, (store) => headOf(store))
  while (!signal.aborted) {
    await sleep(EVERY_MS, signal)
    const head = await operator.use(storeId, (store) => headOf(store))
    if (head !== told) yield { type: 'resync' }
    told = head
  }
}

async function headOf(store: MemoryStore): Promise<string> {
  return (await store.summary()).head
}
