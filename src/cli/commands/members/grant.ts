// `grant give|list|end|givers`: lends machines without a device the right to read or write, for a
// time. The text of a grant is shown once. Everything its holder begins with is made by the store.

import type { Givers } from '../../../format/directory.ts'
import { pageJson, type Wire } from '../../../operations/wire.ts'
import type { HostCheck } from '../../../store/grants/check-host.ts'
import type { Grant, GrantStatus } from '../../../store/grants/grants.ts'
import type { GrantGiven } from '../../../store/store-grants.ts'
import { visible } from '../../../text/visible.ts'
import {
  type Answer,
  type Command,
  CommandError,
  type Context,
  type Input,
  usageError,
} from '../../call/command.ts'
import { actorOptions, authorOf, memberOptions, yesOption } from '../../call/options.ts'
import { remoteAccess } from '../../machine/remote-access.ts'
import { needHistory } from '../../store/granted.ts'
import { isLive, readGrants, resolveGrant } from '../../store/named.ts'
import { withStore } from '../../store/open-store.ts'
import { inkOf } from '../../terminal/ink.ts'
import { errorJson } from '../../terminal/output.ts'
import { withProgress } from '../../terminal/progress.ts'
import { askYes, canAsk } from '../../terminal/prompt.ts'
import { deviceText } from '../../text/device-text.ts'
import { endedLines, endsGrantsJson, warnOfEnding } from '../../text/ending-grants.ts'
import { onlineOptions, pendingPart, rekeyedJson, rekeyedLines } from '../../text/members.ts'
import { idColumn, tableText } from '../../text/table.ts'
import { ageFormat, parseDuration, timeFormat, untilText } from '../../text/times.ts'
import { wire } from '../../text/wire.ts'
import { countText } from '../../text/words.ts'
import { cancelled } from './device.ts'

export const commands: readonly Command[] = [
  {
    name: 'grant give',
    summary: 'Lend a sandbox or a CI job the right to read or write; shown once',
    options: {
      '--role <writer|reader>': 'What its holder may do; else writer',
      '--for <duration>': 'How long it lasts, at most 90d; else 8h',
      '--label <text>': 'Its purpose, for people; kept on this machine',
      '--check': 'Give none; show what the host of the remote allows',
      '--remote <name>': 'The remote that holders begin from; else the only one',
      ...actorOptions,
    },
    notes: [
      'Anyone with the text reads the store, and as writer changes memories, in the name of this ' +
        'device, until the grant ends. An agent with a shell can read it from its environment. ' +
        'It never changes devices, keys or settings, and redacts nothing.',
      'Holders begin from data that the syncs of this device keep at the remote. Give grants on ' +
        'a machine that is always on, and let it sync: `gitlocket serve --sync`, or `gitlocket ' +
        'sync` every hour. After a redaction or new keys, holders can begin once it has synced.',
      'It needs write access to refs below refs/gitlocket/ of the repository, or to tags. ' +
        '--check tries that with a ref of its own, and removes it.',
    ],
    run: grantGive,
  },
  {
    name: 'grant list',
    summary: 'List the grants of the store, ended ones too',
    notes: ['Only the machine that gave a grant knows its label.'],
    run: grantList,
  },
  {
    name: 'grant end',
    destroys: true,
    summary: 'End grants; what their holders wrote is kept',
    usage: '[<grant>…]',
    options: {
      '--all': 'All grants that this device has given',
      '--remote <name>': 'Tell this remote alone; else all of them',
      ...actorOptions,
    },
    notes: [
      'A grant is named by its label, its id, or the first digits of that. An owner ends any ' +
        'grant, a writer those of this device.',
      'Its holder may have kept the keys in force, and then reads later changes until new keys ' +
        'come: `gitlocket key rotate` makes them.',
    ],
    run: grantEnd,
  },
  {
    name: 'grant givers',
    summary: 'Show or set who may give grants: owners alone, or writers too',
    usage: '[owners|writers]',
    options: { ...yesOption, ...memberOptions },
    notes: [
      'A new store lets owners and writers give grants. Leaving it to owners makes new keys, and ' +
        'ends the grants of writers for good: on a terminal they are listed, and you are asked. ' +
        'Only an owner changes it.',
    ],
    run: grantGivers,
  },
]

interface Online {
  readonly remote: string | undefined
  readonly access: ReturnType<typeof remoteAccess>
  readonly signal: AbortSignal
}

function online(context: Context, input: Input): Online {
  const access = remoteAccess(context)
  return { remote: input.text('remote'), access, signal: context.interrupts.signal }
}

function grantGive(context: Context, input: Input): Promise<Answer> {
  const author = authorOf(context, input)
  if (input.flag('check')) {
    return withStore(context, async (store) => {
      const check = await withProgress(context, 'Asking the host', () =>
        store.as(author).grants.check(online(context, input)),
      )
      return { text: checkText(check), json: checkJson(check) }
    })
  }
  const request = {
    ...online(context, input),
    role: roleOf(input),
    lastsMs: input.parsed('for', (text) => parseDuration('for', text)),
    label: input.text('label'),
  }
  return withStore(context, async (store) => {
    if ((await store.remotes.list()).length === 0) throw remotelessError()
    const given = await withProgress(context, 'Syncing', () =>
      store.as(author).grants.give(request),
    )
    return givenAnswer(context, given)
  })
}

function givenAnswer(context: Context, given: GrantGiven): Answer {
  const { grantId, text, role, label, expiresAt, url } = given
  const until = timeFormat(context)(expiresAt)
  return {
    text: [
      `Gave ${grantText({ grantId, label })} as ${role}, until ${until}`,
      '',
      'Shown this once, for the environment of its holder:',
      '',
      `  GITLOCKET_REMOTE=${quoted(visible(url))}`,
      `  GITLOCKET_GRANT=${text}`,
      '',
    ].join('\n'),
    json: wire({ type: 'grant', id: grantId, role, label, expiresAt, remote: url, text }),
    note:
      'The syncs of this machine keep up to date what holders begin with: keep it on, with ' +
      '`gitlocket serve --sync` or an hourly `gitlocket sync`. Without them holders can begin ' +
      `until ${until} unless something is redacted, or keys change, before that`,
  }
}

/** For a shell: an address has a `#`. */
function quoted(address: string): string {
  return `'${address.replaceAll("'", `'\\''`)}'`
}

function remotelessError(): CommandError {
  return new CommandError(
    'not_found',
    'The holder of a grant begins at a remote, and this store has no remote',
    '`gitlocket remote add <name> <url>` names one',
  )
}

function roleOf(input: Input): 'writer' | 'reader' | undefined {
  const role = input.text('role')
  if (role === undefined || role === 'writer' || role === 'reader') return role
  throw usageError('--role of a grant must be writer or reader', 'grant give')
}

/** By its label too, if it has one. */
function grantText({ grantId, label }: Pick<Grant, 'grantId' | 'label'>): string {
  return label ? `the grant ${visible(label)} (${grantId})` : `the grant ${grantId}`
}

const statusTexts: Readonly<Record<GrantStatus, string>> = {
  active: 'active',
  expired: 'expired',
  ended: 'ended',
  granter_inactive: 'device inactive',
}

function grantList(context: Context, input: Input): Promise<Answer> {
  return withStore(context, async (store) => {
    needHistory(store)
    const grants = await readGrants(context, store)
    const names = await store.devices.names()
    const age = ageFormat(context)
    const text = tableText(context, inkOf(context, input), grants, [
      { head: 'LABEL', cell: ({ label }) => label ?? '', cut: 'end', weight: 2 },
      { head: 'ROLE', cell: ({ role }) => role },
      {
        head: 'BY',
        cell: ({ grantedBy, isOwn }) =>
          isOwn ? 'this machine' : deviceText(grantedBy, names.get(grantedBy)),
        exact: ({ grantedBy }) => deviceText(grantedBy, names.get(grantedBy)),
        cut: 'end',
        weight: 2,
      },
      { head: 'GIVEN', cell: ({ givenAt }) => age(givenAt) },
      { head: 'ENDS', cell: (grant) => endText(context, grant) },
      { head: 'STATE', cell: ({ status }) => statusTexts[status] },
      idColumn(({ grantId }) => grantId),
    ])
    const none = 'There is no grant; `gitlocket grant give` gives one'
    const note = grants.length === 0 ? none : undefined
    return { text, inked: true, json: pageJson(grants.map(grantJson)), paged: true, note }
  })
}

function endText(context: Context, { endedAt, expiresAt }: Grant): string {
  return endedAt === undefined ? untilText(context, expiresAt) : ageFormat(context)(endedAt)
}

function grantEnd(context: Context, input: Input): Promise<Answer> {
  const author = authorOf(context, input)
  const named = input.arguments(0)
  const isAll = input.flag('all')
  if (isAll === named.length > 0) {
    throw usageError('Name the grants to end, or give --all', 'grant end')
  }
  return withStore(context, async (store) => {
    const grants = await readGrants(context, store)
    const chosen = isAll
      ? grants.filter((grant) => grant.isOwn && isLive(grant))
      : named.map((typed) => resolveGrant(grants, typed))
    const ids = chosen.map(({ grantId }) => grantId)
    const { grantIds, pending } = await withProgress(context, 'Syncing', () =>
      store.as(author).grants.end(ids, online(context, input)),
    )
    const ended = chosen.filter(({ grantId }) => grantIds.includes(grantId))
    const before = chosen.length - ended.length
    const lines = [
      ...ended.map((grant) => `Ended ${grantText(grant)}`),
      ...(before > 0 ? [`${countText(before, 'grant', 'grants')} had ended before`] : []),
      ...(chosen.length === 0 ? ['No grant of this device is active'] : []),
    ]
    return {
      text: `${lines.join('\n')}\n`,
      json: wire({ type: 'grants_ended', ids: grantIds, pending: pending && errorJson(pending) }),
      ...(pending && { failures: [pending] }),
      ...(ended.length > 0 && {
        note:
          'A holder who kept the keys reads later changes until new ones come: ' +
          '`gitlocket key rotate`',
      }),
    }
  })
}

const giversTexts: Readonly<Record<Givers, string>> = {
  'owners and writers': 'Owners and writers may give grants',
  owners: 'Owners alone may give grants',
}

async function grantGivers(context: Context, input: Input): Promise<Answer> {
  const typed = input.findArgument(0)
  if (typed === undefined) {
    return withStore(context, async (store) => {
      const { givers } = await store.status()
      return { text: `${giversTexts[givers]}\n`, json: { givers } }
    })
  }
  const givers = giversOf(typed)
  const author = authorOf(context, input)
  return withStore(context, async (store) => {
    const names = await store.devices.names()
    const ends = await store.grants.endedBy({ givers })
    if (ends.length > 0 && !input.flag('yes') && canAsk(context)) {
      warnOfEnding(context, ends, names)
      if (!(await askYes(context, 'Leave it to owners to give grants?'))) throw cancelled()
    }
    const changed = await store.as(author).grants.setGivers(givers, onlineOptions(context, input))
    const { endsGrants } = changed
    const lines = [
      giversTexts[givers],
      ...(givers === 'owners' ? rekeyedLines(changed, 'A writer') : []),
      ...endedLines(context, endsGrants, names),
      '',
    ]
    const json = { givers, ...rekeyedJson(changed), ends_grants: endsGrantsJson(endsGrants) }
    return { text: lines.join('\n'), json, ...pendingPart(changed) }
  })
}

function giversOf(typed: string): Givers {
  if (typed === 'owners') return 'owners'
  if (typed === 'writers') return 'owners and writers'
  throw usageError('Grants are given by `owners` alone, or by `writers` too', 'grant givers')
}

function grantJson(grant: Grant): Wire {
  const { grantId, label, role, grantedBy, isOwn, givenAt, expiresAt, endedAt, status } = grant
  const times = { givenAt, expiresAt, endedAt }
  return wire({
    type: 'grant',
    id: grantId,
    label,
    role,
    grantedBy,
    thisDevice: isOwn,
    ...times,
    status,
  })
}

function checkText({ remote, refs, tags, leftOver }: HostCheck): string {
  return [
    `The host of ${visible(remote)} allows\n`,
    can('refs below refs/gitlocket/', refs),
    ...(refs === undefined ? [] : [can('tags', tags)]),
    refs === undefined || tags === undefined
      ? 'Grants can be given.\n'
      : 'Grants cannot be given: holders have nothing to begin from.\n',
    ...leftOver.map((name) => `The ref ${name} could not be deleted: delete it there\n`),
  ].join('')
}

function can(what: string, refusal: string | undefined): string {
  return `  ${what}: ${refusal === undefined ? 'yes' : `no, ${visible(refusal)}`}\n`
}

function checkJson({ remote, refs, tags, leftOver }: HostCheck): Wire {
  return wire({
    type: 'grant_check',
    remote,
    refs: refs === undefined,
    refsRefusal: refs,
    tags: refs === undefined ? undefined : tags === undefined,
    tagsRefusal: tags,
    leftOver,
  })
}
