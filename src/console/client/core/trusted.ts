// What the console says is taken for what it should be: it and its page are of one build.

/* oxlint-disable typescript/no-unsafe-type-assertion, typescript/no-unnecessary-type-parameters */

export function trusted<T>(said: unknown): T {
  return said as T
}

export async function jsonOf<T>(answer: Response): Promise<T> {
  const said: unknown = await answer.json()
  return trusted(said)
}
