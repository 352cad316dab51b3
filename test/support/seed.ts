// The seed and the size of randomised tests, read from the environment once. The seed is fixed
// unless SEED is set, so that a run that fails here fails everywhere; global-setup prints it.

/** Whether FULL=1 asks for the long versions of property and fault tests. */
export const full: boolean = process.env['FULL'] === '1'

/** The seed to hand to `fc.assert(…, { seed })` and to seeded generators. */
export const seed: number = seedOf(process.env['SEED'])

/** By default a sample of similar cases, chosen by the seed; all with FULL=1. */
export function sample<T>(cases: readonly T[], oneIn: number): readonly T[] {
  return full ? cases : cases.filter((_, index) => (index + seed) % oneIn === 0)
}

function seedOf(text: string | undefined): number {
  if (text === undefined || text === '') return 1
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new Error('SEED is not an integer')
  return value
}
