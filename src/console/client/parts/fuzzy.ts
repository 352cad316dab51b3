// Finds names by a few of their letters, in order: `bildec` finds `/billing/decisions.md`. Must not
// touch the page.

/** Letters that begin a word of the name, or that follow the one before, say more than others. */
const START = 6
const NEXT = 4

/**
 * How well a name fits, or undefined if it lacks a letter. Case and spaces do not matter; of names
 * that fit equally well the shorter one is better.
 */
export function fuzzyScore(query: string, name: string): number | undefined {
  const wanted = query.toLowerCase().replaceAll(/\s+/g, '')
  const letters = name.toLowerCase()
  if (!hasInOrder(letters, wanted)) return undefined
  // The best score with the letter of the query that is looked at, at each place of the name.
  let scores: readonly number[] = []
  for (const letter of wanted) scores = nextScores(letters, letter, scores)
  return Math.max(0, ...scores) - letters.length / 1000
}

function hasInOrder(letters: string, wanted: string): boolean {
  let at = -1
  for (const letter of wanted) {
    at = letters.indexOf(letter, at + 1)
    if (at === -1) return false
  }
  return true
}

/** `scores` are those of the letter before; empty for the first one. */
function nextScores(letters: string, letter: string, scores: readonly number[]): number[] {
  const next: number[] = []
  let best = scores.length === 0 ? 0 : -Infinity
  for (let at = 0; at < letters.length; at += 1) {
    const before = (scores[at - 1] ?? -Infinity) + NEXT
    best = Math.max(best, scores[at - 1] ?? -Infinity)
    const isHere = letters.startsWith(letter, at)
    next.push(isHere ? Math.max(best, before) + (isStart(letters, at) ? START : 0) : -Infinity)
  }
  return next
}

function isStart(letters: string, at: number): boolean {
  return at === 0 || /[^\p{L}\p{N}]/u.test(letters[at - 1] ?? '')
}
