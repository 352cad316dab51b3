// Things as users name them: versions by a beginning of their id; devices, API keys and workspaces
// by that or by their name, as long as it means only one of them.

import { assert, StoreError } from '../../errors.ts'
import type { Grant } from '../../store/grants/grants.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { CommandError, type Context, type Input } from '../call/command.ts'
import { withProgress } from '../terminal/progress.ts'

export interface Named {
  readonly id: string
  readonly name: string
}

/** Fewer digits of an id are no name for it. */
const SHORTEST = 4
const ID_DIGITS = 26
const VERSION = 'memver_'
const PAGE_MAX = 1000

/**
 * The full id. A name never takes precedence over the beginning of another id: anyone who joins
 * chooses a name. Throws `not_found`, or `invalid_input` if several are meant.
 */
export function resolveNamed(
  things: readonly Named[],
  typed: string,
  { kind, list }: { readonly kind: string; readonly list: string },
): string {
  const exact = things.find(({ id }) => id === typed)
  if (exact !== undefined) return exact.id
  // Things without a name have an empty one, and so has a variable of a script that is not set.
  const found = things.filter(({ id, name }) => {
    return (name !== '' && name === typed) || beginsWith(id, typed)
  })
  const [first] = found
  const hint = `\`${list}\` lists them`
  if (first === undefined) {
    const advice = `${hint}: name one by its name, or by at least ${SHORTEST} digits of its id`
    throw new CommandError('not_found', `There is no ${kind} "${typed}"`, advice)
  }
  if (found.length === 1) return first.id
  const ids = found.map(({ id }) => id).join(', ')
  const problem = `"${typed}" may mean ${found.length} of them: ${ids}`
  throw new CommandError('invalid_input', problem, `Name the ${kind} by more digits of its id`)
}

export function readGrants(context: Context, store: MemoryStore): Promise<readonly Grant[]> {
  return withProgress(context, 'Reading the history', (options) => store.grants.list(options))
}

/** A grant by its label, its id or a beginning of that; a label means one that has not ended. */
export function resolveGrant(grants: readonly Grant[], typed: string): Grant {
  const live = grants.filter((grant) => isLive(grant) && grant.label === typed)
  const named = grants.map((grant) => {
    const hasOther = live.length > 0 && !live.includes(grant)
    return { id: grant.grantId, name: hasOther ? '' : (grant.label ?? '') }
  })
  const id = resolveNamed(named, typed, { kind: 'grant', list: 'gitlocket grant list' })
  const found = grants.find(({ grantId }) => grantId === id)
  assert(found !== undefined, 'a resolved grant is listed')
  return found
}

/** Whether no record has ended it. */
export function isLive({ status }: Grant): boolean {
  return status === 'active' || status === 'expired'
}

/** The id of the grant that `--grant` names; undefined without it. */
export async function grantIdOf(
  context: Context,
  input: Input,
  store: MemoryStore,
): Promise<string | undefined> {
  const typed = input.text('grant')
  if (typed === undefined) return undefined
  const grants = await readGrants(context, store)
  const { grant } = context.environment
  if (grant === undefined) return resolveGrant(grants, typed).grantId
  // Loaded on demand. It may have been given before this clone begins.
  const own = (await import('./granted.ts')).heldGrantId(grant.grant)
  const ids = new Set([own, ...grants.map(({ grantId }) => grantId)])
  const [found, another] = [...ids].filter((id) => beginsWith(id, typed))
  if (found !== undefined && another === undefined) return found
  throw new CommandError(
    'not_found',
    `This clone knows no grant "${typed}": the label is known only where it was given`,
    `The grant here is ${own}; \`gitlocket fetch --all\` gets the ids of the others`,
  )
}

/** With or without the prefix of the id: `dev_1h0b`, `1h0b`. */
function beginsWith(id: string, typed: string): boolean {
  const digits = id.indexOf('_') + 1
  const whole = typed.startsWith(id.slice(0, digits)) ? typed : id.slice(0, digits) + typed
  return whole.length >= digits + SHORTEST && id.startsWith(whole)
}

/** The full id of a version given by its id or an unambiguous beginning of it. */
export async function resolveVersion(store: MemoryStore, typed: string): Promise<string> {
  const digits = typed.startsWith(VERSION) ? typed.slice(VERSION.length) : typed
  if (digits.length === ID_DIGITS) return VERSION + digits
  if (digits.length < SHORTEST || !/^[0-9a-z]+$/.test(digits)) {
    throw new StoreError(
      'invalid_input',
      `A version is named by its id, or by at least ${SHORTEST} digits of it; \`log\` shows them`,
    )
  }
  const found: string[] = []
  for await (const { versionId } of store.history.versions({ limit: PAGE_MAX })) {
    if (versionId.startsWith(VERSION + digits)) found.push(versionId)
  }
  if (found[0] === undefined) {
    const hint = '`gitlocket log --oneline` lists the versions with their ids'
    throw new CommandError('not_found', `There is no such version: ${typed}`, hint)
  }
  if (found.length === 1) return found[0]
  throw new StoreError(
    'invalid_input',
    `${found.length} versions begin with these digits; give more`,
  )
}
