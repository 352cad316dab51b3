// What a console shows: a store, as its member sees it. All that its listener knows: it asks by
// name, with whatever the page has sent.

import type { WorkOptions } from '../../async.ts'
import { StoreError } from '../../errors.ts'
import type { StoreChange } from '../../store/watch.ts'
import { type Access, type OperationDefinition, checkAccess } from '../operation.ts'
import { parseInput } from '../schemas.ts'
import type { QuestionName } from './contract.ts'
import type { ConsoleContext } from './operation.ts'
import { operations } from './operations.ts'

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
  readonly stores: () => readonly ConsoleStore[]
  /** The only one, if none is named; undefined for one that there is not. */
  readonly find: (storeId: string | undefined) => ConsoleSubject | undefined
}

/** The subjects of a console that shows one store. */
export function onlySubject(subject: ConsoleSubject): ConsoleSubjects {
  return {
    stores: () => [],
    find: (storeId) => (storeId === undefined ? subject : undefined),
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
export async function answer<Context>(
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
