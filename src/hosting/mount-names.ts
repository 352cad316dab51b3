// The names under which several stores lie next to each other (Memory Stores API §10.6), made of
// the names of the stores.

/** Enough to tell eight stores apart: a hundred and twenty bits. */
const idDigits = 24

/**
 * Of different stores, different names, whatever the stores are called. `taken` are in lower case,
 * and given to none of them.
 */
export function mountNames(
  stores: readonly { readonly storeId: string; readonly name: string }[],
  taken: readonly string[] = [],
): readonly string[] {
  const slugs = stores.map(({ name }) => slugOf(name))
  const withId = stores.map(({ storeId }, index) => {
    return [slugs[index], storeId.slice(-idDigits)].filter(Boolean).join('-')
  })
  const short = withId.map((long, index) => {
    const slug = slugs[index] ?? ''
    const isOwn = slug !== '' && slugs.indexOf(slug) === slugs.lastIndexOf(slug)
    return isOwn && !taken.includes(slug) ? slug : long
  })
  const isClear = new Set(short).size === stores.length
  return isClear ? short : withId
}

function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
}
