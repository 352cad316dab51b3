// The frame of every view: the bar with the search and the state of the store, the side with the
// views and the tree, the line of time, and the keys, which work unless a text is typed.

import { useLocation } from 'preact-iso'
import { useEffect, useState } from 'preact/hooks'
import type { Overview } from '../../../operations/console/contract.ts'
import { addressAt, addressOf, atNow, storeNow } from '../core/address.ts'
import type { AskFailure } from '../core/ask.ts'
import { followEvents } from '../core/events.ts'
import { isIdle, lock, openAnotherTab, reportUse, tellUse } from '../core/session.ts'
import {
  commitCount,
  isDrawerOpen,
  isPast,
  mayWrite,
  moment,
  notice,
  overview,
  searchWords,
} from '../core/state.ts'
import { useAsk } from '../core/use-ask.ts'
import { Dialog } from '../parts/dialog.tsx'
import { submitting } from '../parts/field.tsx'
import { Icon, Logo } from '../parts/icons.tsx'
import { Failure } from '../parts/labels.tsx'
import { loadMarkdown } from '../parts/markdown.tsx'
import { absoluteTime, countOf, relativeTime } from '../parts/times.ts'
import { Palette } from './palette.tsx'
import { Side } from './side.tsx'
import { TimeLine } from './time-line.tsx'
import { hasTree, Routes, views } from './views.tsx'

export function Frame() {
  const { query, path } = useLocation()
  const { at } = query
  // Before anything below is drawn with it.
  if (atNow.peek() !== at) atNow.value = at
  const { data, failure } = useAsk('store.overview', {})
  if (data !== undefined && overview.peek() !== data) {
    overview.value = data
    commitCount.value = data.commits ?? commitCount.peek()
  }
  const lost = useMoment(at)
  useEffect(() => {
    void followEvents()
    // After the first view is drawn; a reader of a memory tells if it fails.
    loadMarkdown().catch(() => undefined)
    return reportUse()
  }, [])
  useFocusOnView(path)
  const isMember = data?.audience !== 'auditor'
  const withTree = isMember && hasTree(path)
  const kinds = ['frame', ...(isPast.value ? ['past'] : []), ...(withTree ? ['with-tree'] : [])]
  return (
    <div class={kinds.join(' ')}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Bar />
      <Side withTree={withTree} />
      <main id="content" tabIndex={-1}>
        <Failure failure={failure} />
        {isPast.value && <PastBanner />}
        <Failure failure={lost} />
        {data !== undefined && <Routes />}
      </main>
      {isMember && <TimeLine />}
      <Keys />
      <Notice />
      <IdleWarning />
    </div>
  )
}

/** Tells that the page is of the past, and links back. */
function PastBanner() {
  const { url } = useLocation()
  const { access, role } = overview.value ?? {}
  const mayRollBack = access === 'read_write' && (role === 'owner' || role === 'writer')
  const shown = moment.value
  return (
    <div class="banner" role="status">
      <span class="of">
        <b>As it was{shown !== undefined && ` on ${absoluteTime(shown.time)}`}.</b>
        {shown !== undefined && ` Commit ${shown.position} of ${shown.commits}.`}
      </span>
      <span class="sp" />
      {shown !== undefined && (
        <>
          <a class="button" href={addressOf.compare(shown.commit)}>
            Compare<span class="wide-only"> with now</span>
          </a>
          {mayRollBack && (
            <a class="button" href={addressOf.rollback(shown.commit)}>
              Roll <span class="wide-only">everything </span>back
              <span class="wide-only"> to here</span>…
            </a>
          )}
        </>
      )}
      <a class="button pri" href={addressAt(url, undefined)}>
        Back to now
      </a>
    </div>
  )
}

/** Any use of the page takes it away. */
function IdleWarning() {
  if (!isIdle.value) return null
  return (
    <div class="banner idle" role="alert">
      No one has used the console for a while. It locks in a minute.
      <button type="button" class="pri" onClick={tellUse}>
        Keep it open
      </button>
    </div>
  )
}

const NOTICE_MS = 4000

function Notice() {
  const { value } = notice
  useEffect(() => {
    if (value === undefined) return undefined
    const end = setTimeout(() => {
      notice.value = undefined
    }, NOTICE_MS)
    return () => clearTimeout(end)
  }, [value])
  return (
    <p class="notice" role="status">
      {value}
    </p>
  )
}

/** Finds the moment that the address names, or the failure. */
function useMoment(at: string | undefined): AskFailure | undefined {
  const { data, failure } = useAsk('moment.find', at === undefined ? undefined : { commit: at })
  useEffect(() => {
    // The slider's moment is known before the address changes.
    const isKnown = data === undefined && moment.peek()?.commit === at
    if (!isKnown) moment.value = at === undefined ? undefined : data
  }, [at, data])
  return failure
}

/** A followed link is removed, and the focus with it: the new view gets the focus. */
function useFocusOnView(path: string): void {
  useEffect(() => {
    if (document.activeElement === document.body) document.getElementById('content')?.focus()
  }, [path])
}

function Bar() {
  const { name = '', storeId = '', audience } = overview.value ?? {}
  return (
    <header class="bar">
      <button
        type="button"
        id="to-side"
        class="bare"
        aria-label="Menu"
        aria-expanded={isDrawerOpen.value}
        aria-controls="side"
        onClick={() => (isDrawerOpen.value = !isDrawerOpen.value)}
      >
        <Icon name="menu" />
      </button>
      <a
        class="store"
        href={addressOf.view(audience === 'auditor' ? 'audit' : 'review')}
        title={storeId}
      >
        <Logo />
        <strong>{name === '' ? 'gitlocket' : name}</strong>
      </a>
      {storeNow.value !== undefined && (
        <a class="chip stores" href="/" title="All stores">
          <Icon name="stores" />
          <span class="label">All stores</span>
        </a>
      )}
      {audience === 'member' && <Search />}
      <span class="sp" />
      <Chips />
      <button
        type="button"
        class="bare"
        aria-label="Open another tab"
        title="Open another tab"
        onClick={() => void openAnotherTab()}
      >
        <Icon name="tab" />
      </button>
      <button type="button" class="lock" title="Close the store" onClick={() => void lock()}>
        <Icon name="lock" />
        <span class="label">Lock</span>
      </button>
    </header>
  )
}

/** Memories are found while the words are typed. */
function Search() {
  const { route, path } = useLocation()
  const open = (): void => {
    if (path !== '/search') route(addressOf.search())
  }
  return (
    <form class="search" role="search" aria-label="Memories" onSubmit={submitting(open)}>
      <label class="sr" for="search">
        Search memories, now or at the moment shown
      </label>
      <input
        id="search"
        type="search"
        autocomplete="off"
        placeholder="Search memories"
        value={searchWords.value}
        onInput={({ currentTarget }) => {
          searchWords.value = currentTarget.value
          if (currentTarget.value.trim() !== '') open()
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') reach('.found a')
          else if (event.key === 'Escape') document.getElementById('content')?.focus()
          else return
          event.preventDefault()
        }}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  )
}

function Chips() {
  const known = overview.value
  if (known === undefined) return null
  const { remotes, deviceName, deviceId, role = 'removed', access } = known
  const device = deviceName === '' ? deviceId.slice(0, 10) : deviceName
  return (
    <>
      <a class="chip good" href={addressOf.view('audit')} title="Every commit was verified">
        <Icon name="audit" />
        <span class="label">
          Verified{' '}
          {commitCount.value !== undefined && (
            <span class="dim">{countOf(commitCount.value, 'commit')}</span>
          )}
        </span>
      </a>
      <a class="chip" href={addressOf.view('sync')} title="Where it is synced to">
        <Icon name="sync" />
        <span class="label">
          {remotes.length === 0 && 'no remote'}
          {remotes.map((remote) => (
            <RemoteState key={remote.name} remote={remote} />
          ))}
        </span>
      </a>
      <a class="chip" href={addressOf.view('devices')} title="This device and its role">
        <Icon name="devices" />
        <span class="label">
          {device} <span class="dim">{access === 'read_only' ? `${role}, read-only` : role}</span>
        </span>
      </a>
    </>
  )
}

function RemoteState({ remote }: { readonly remote: Overview['remotes'][number] }) {
  const { name, unsent, syncedAt } = remote
  if (unsent === undefined) return <span class="remote">{name}</span>
  const state =
    unsent > 0 ? `${unsent} to send` : syncedAt === undefined ? 'synced' : relativeTime(syncedAt)
  return (
    <span class="remote">
      {name} <span class={unsent > 0 ? 'unsent' : 'dim'}>{state}</span>
    </span>
  )
}

const HELP: readonly (readonly [string, string])[] = [
  ['/', 'search'],
  ['Ctrl+K or ⌘K', 'go to a memory, change, session or command by its name'],
  ['f', 'filter paths'],
  ['e', 'edit the memory'],
  ['n', 'a new memory'],
  ['j, k', 'in a memory: an older version, a newer one'],
  ['g then a letter', views.map(({ key, name }) => `${key} ${name}`).join(', ')],
  ['Arrow keys, Home, End, Enter', 'in a tree: move, open and close, show'],
  [
    'Arrow keys, in the line of time',
    'one commit earlier or later; with a memory open, left and right: its change before or after',
  ],
  ['Ctrl+S, in the editor', 'save'],
  ['Escape', 'close a dialog'],
  ['?', 'this list'],
]

/** What each key does; false if that is impossible here. */
function act(key: string, route: (address: string) => void): boolean {
  if (key === '/') return reach('#search')
  if (key === 'e') return reach('#edit')
  if (key === 'j') return reach('.hist .on + li .version')
  if (key === 'k') return reach('.hist li:has(+ .on) .version')
  if (key === 'f') {
    if (!reach('#filter')) return false
    // A closed drawer takes no focus.
    if (document.activeElement?.id !== 'filter') {
      isDrawerOpen.value = true
      requestAnimationFrame(() => reach('#filter'))
    }
    return true
  }
  if (key !== 'n' || !mayWrite.value) return false
  route(addressOf.newMemory())
  return true
}

function Keys() {
  const { route } = useLocation()
  const [shown, show] = useState<'keys' | 'palette'>()
  useEffect(() => {
    let afterG = false
    const onKey = (event: KeyboardEvent): void => {
      if (isPaletteKey(event)) {
        event.preventDefault()
        show('palette')
        return
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const view = afterG ? views.find(({ key }) => key === event.key) : undefined
      afterG = event.key === 'g'
      if (view !== undefined) route(addressOf.view(view.name))
      else if (event.key === '?') show('keys')
      else if (!act(event.key, route)) return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  const close = (): void => show(undefined)
  if (shown === undefined) return null
  if (shown === 'palette') return <Palette onClose={close} />
  return (
    <Dialog title="Keys" onClose={close}>
      <dl>
        {HELP.map(([keys, what]) => (
          <>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
      <p class="go">
        <button type="button" class="pri" onClick={close}>
          Close
        </button>
      </p>
    </Dialog>
  )
}

/** Works while a text is typed, too, but not in a dialog. */
function isPaletteKey({ key, ctrlKey, metaKey }: KeyboardEvent): boolean {
  return (ctrlKey || metaKey) && key === 'k' && document.querySelector('dialog[open]') === null
}

/** Whether there was such an element. */
function reach(selector: string): boolean {
  const found = document.querySelector<HTMLElement>(selector)
  if (found === null) return false
  if (found.matches('input, .found a')) found.focus()
  else found.click()
  return true
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target.isContentEditable || target.closest('dialog') !== null) return true
  const isRange = target instanceof HTMLInputElement && target.type === 'range'
  return !isRange && target.matches('input, textarea, select')
}
