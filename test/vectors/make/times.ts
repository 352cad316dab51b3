// Vectors of placed times: histories of nothing but times and parents, as one text. FORMAT §6.5.

import type { Vector } from '../vector.ts'

const day = 24 * 60 * 60 * 1000
const now = Date.UTC(2026, 10, 1)
const far = Date.UTC(2099, 0, 1)

export function times(): readonly Vector[] {
  return [
    vector(
      'a line',
      line(now, now + 5, now + 5, now + day),
      line(now, now + 5, now + 5, now + day),
    ),
    vector('24 hours earlier', line(now + day, now), line(now + day, now)),
    vector('over 24 hours earlier', line(now + day + 1, now), line(now, now)),
    vector(
      'far ahead, and back',
      line(now, far, far + 1, now + 9),
      line(now, now + 9, now + 9, now + 9),
    ),
    vector('far ahead, to the head', line(now, far, far + 1), line(now, far, far + 1)),
    vector('far behind, and back', line(now, 0, now + 1), line(0, 0, now + 1)),
    vector(
      'earlier by little, again and again',
      line(now + day, now + day / 2, now, now - 1),
      line(now - 1, now + day / 2, now, now - 1),
    ),
    vector(
      'the earliest of several',
      line(far, now + 2, now + 1, now + 3),
      line(now + 1, now + 2, now + 1, now + 3),
    ),
    vector(
      'one side of two is ahead, and the merge is not',
      `${now}; ${far} 0; ${now + 7} 0; ${now + 8} 1 2`,
      line(now, now + 8, now + 7, now + 8),
    ),
    vector(
      'the merge is ahead, and one side goes on',
      `${now}; ${now + 1} 0; ${now + 2} 0; ${far} 1 2; ${now + 4} 2; ${now + 9} 3 4`,
      line(now, now + 1, now + 2, now + 9, now + 4, now + 9),
    ),
  ]
}

function vector(name: string, records: string, placed: string): Vector {
  const text = records.includes(';') ? records : chained(records)
  return { name, clause: '6.5', expect: 'accepted', records: text, placed }
}

function line(...found: readonly number[]): string {
  return found.join(' ')
}

/** Each the child of the one before. */
function chained(records: string): string {
  const each = records.split(' ')
  return each.map((time, index) => (index === 0 ? time : `${time} ${index - 1}`)).join('; ')
}
