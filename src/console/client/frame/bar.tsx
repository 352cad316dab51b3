// The bar above all views: the store's owner, the search, the state of verification and sync, and
// Lock.

import { useLocation } from 'preact-iso'
import { addressOf, storeNow } from '../core/address.ts'
import { lock, openAnotherTab } from '../core/session.ts'
import { commitCount, overview, searchWords } from '../core/state.ts'
import { submitting } from '../parts/field.tsx'
import { countOf } from '../parts/times.ts'

export function Bar() {
  const { name = '', storeId = '', audience } = overview.value ?? {}
  return (
    <header class="bar">
      <a class="store" href={addressOf.view(audience === 'auditor' ? 'audit' : 'memories')}>
        <strong>{name === '' ? 'gitlocket' : name}</strong>{' '}
        <span class="dim">{storeId.slice(0, 14)}…</span>
      </a>
      {storeNow.value !== undefined && (
        <a class="chip" href="/">
          All stores
        </a>
      )}
      {audience === 'member' && <Search />}
      <span class="sp" />
      <Chips />
      <button type="button" onClick={() => void openAnotherTab()}>
        Open another tab
      </button>
      <button type="button" class="lock" onClick={() => void lock()}>
        Lock
      </button>
    </header>
  )
}

function Search() {
  const { route, path } = useLocation()
  return (
    <form
      class="search"
      role="search"
      aria-label="Memories"
      onSubmit={submitting(() => {
        if (path !== '/search') route(addressOf.search())
      })}
    >
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
        <span class="dot" aria-hidden="true" />
        Verified{' '}
        {commitCount.value !== undefined && (
          <span class="dim">{countOf(commitCount.value, 'commit')}</span>
        )}
      </a>
      <a class="chip" href={addressOf.view('sync')}>
        {remotes.length === 0 ? 'no remote' : remotes.map(describeRemote).join(', ')}
      </a>
      <a class="chip who" href={addressOf.view('devices')} title="This device and its role">
        {device} · {access === 'read_only' ? `${role}, read-only` : role}
      </a>
    </>
  )
}

function describeRemote(remote: { readonly name: string; readonly unsent?: number | undefined }) {
  if (remote.unsent === undefined) return remote.name
  return remote.unsent === 0 ? `${remote.name}: synced` : `${remote.name}: ${remote.unsent} unsent`
}
