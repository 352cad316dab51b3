// The console's answers are trusted to have their types: it and its page are of one build.

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the type
export function trusted<T>(said: unknown): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of one build, as above
  return said as T
}

export async function jsonOf<T>(answer: Response): Promise<T> {
  const said: unknown = await answer.json()
  return trusted(said)
}
