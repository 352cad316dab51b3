// The reason that a user gives with a change.

/** Nothing for an empty one. */
export function reasonIn(text: string): { readonly reason?: string } {
  const reason = text.trim()
  return reason === '' ? {} : { reason }
}
