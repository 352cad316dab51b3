// The stores of a server, for the operator of its machine: each is opened when it is asked for, and
// held by no one who only looks at it.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Operator } from '../../hosting/host.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { StoreChange } from '../../store/watch.ts'
import {
  type ConsoleSubject,
  type ConsoleSubjects,
  type ConsoleUser,
  memberSubject,
} from './subject.ts'

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
    stores: () => operator.stores().map(({ storeId, name }) => ({ storeId, name })),
    find: (storeId) => {
      const isThere = operator.stores().some((store) => store.storeId === storeId)
      return storeId !== undefined && isThere ? subjectOf(storeId) : undefined
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
    await sleep(EVERY_MS, undefined, { signal })
    const head = await operator.use(storeId, (store) => headOf(store))
    if (head !== told) yield { type: 'resync' }
    told = head
  }
}

async function headOf(store: MemoryStore): Promise<string> {
  return (await store.summary()).head
}
