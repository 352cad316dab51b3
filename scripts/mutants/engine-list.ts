// The part of the list about stores that servers share over a database.

import { always, type MutantList, swap } from './mutant.ts'

/** Of `append`: the key of the log would do, if entries were not removed. */
const keyAlone = 'not exists (select from gl_log where store = s.store and number = $2)'

export const engine: MutantList = {
  'contract/shared-log.test.ts': [
    swap(
      'statements',
      ['s.number = $2::bigint - 1', keyAlone],
      'a number that was removed is not given again',
    ),
    swap(
      'statements',
      ['and (s.holder is null or s.holder = $5 or s.until < now())', ''],
      'a claim refuses the appends of others until the holder appends or releases',
    ),
  ],
  'fault/engine-log.test.ts': [
    swap(
      'append',
      ['count === 1 && !isWarned', 'count === 1'],
      'a wait for it that is cancelled acknowledges nothing',
    ),
    swap(
      'append',
      ['outcome && this.#settle(deadline)', 'outcome'],
      'a wait for it that is ended with its session acknowledges nothing',
    ),
    always('settle', '!done.isWarned', 'a wait for it that is cancelled acknowledges nothing'),
    always('append', '!isOpen', 'a connection that is lost during it leaves the entry there once'),
  ],
  'attack/engine-rows.test.ts': [
    swap(
      'hasRow',
      ['state.hash === stateOfRow(state.generation, body).hash', 'true'],
      'of a change that failed, in place of that of the same number',
    ),
    swap('hasRow', ['state === row', 'true'], 'a key, which is missing'),
  ],
  'unit/git/replicated-store.test.ts': [
    swap(
      'sendBase',
      ['erases ? number : expected', 'this.#replica.number'],
      'leaves entries that come while it is sent in the log',
    ),
  ],
  'unit/git/replicated-erasure.test.ts': [
    swap(
      'sendBase',
      ['erases ? number : expected', 'expected'],
      'an erasure leaves nothing in the log, in the base and in any replica',
    ),
  ],
  'unit/store/lost-races.test.ts': [
    swap(
      'run',
      ['batch.refused.set(', 'command.reject(error); batch.refused.set('],
      'refusals are about the state that is kept',
    ),
  ],
}
