// The name and limits of the store, and the guard against secrets.

import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import type { InputOf, ResultOf, SettingsView } from '../../../../operations/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { mayManage, notice } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { useAsk } from '../../core/use-ask.ts'
import { Field, submitting } from '../../parts/field.tsx'
import { CopiedText, Failure, ProgressBar } from '../../parts/labels.tsx'
import { Slices } from '../../parts/pager.tsx'
import { absoluteTime, countOf } from '../../parts/times.ts'

export function SettingsPage() {
  const { data, failure } = useAsk('settings.show', {})
  return (
    <>
      <h1>Settings</h1>
      <Failure failure={failure} />
      {data !== undefined && (
        <>
          <p class="meta">
            Created {absoluteTime(data.createdAt)}, settings changed {absoluteTime(data.updatedAt)}
            {data.archivedAt !== undefined && `, archived ${absoluteTime(data.archivedAt)}`}
          </p>
          <SettingsForm settings={data} />
          <Guard isOn={data.guard} allowed={data.allowed} />
          {mayManage.value && <Keys />}
        </>
      )}
    </>
  )
}

const keyCommands = [
  ['gitlocket key passwd', 'A new passphrase'],
  ['gitlocket key recovery', 'A new recovery key'],
  ['gitlocket key rotate', 'New keys for later changes'],
] as const

function Keys() {
  return (
    <section>
      <h2>Keys and passphrase</h2>
      <p>They are changed in a terminal:</p>
      <dl>
        {keyCommands.map(([command, what]) => (
          <Fragment key={command}>
            <dt>{what}</dt>
            <dd>
              <CopiedText label={command} text={command} />
            </dd>
          </Fragment>
        ))}
      </dl>
    </section>
  )
}

const fields = [
  ['name', 'Name', {}],
  ['description', 'Description', {}],
  ['contentBytes', 'Largest memory, in bytes', { type: 'number', min: 1 }],
  ['memories', 'Maximum number of memories', { type: 'number', min: 1 }],
] as const

type Typed = Partial<Readonly<Record<(typeof fields)[number][0], string>>>

/** The input is kept when someone else changes the settings; the other fields are theirs. */
function SettingsForm({ settings }: { readonly settings: SettingsView }) {
  const [typed, setTyped] = useState<Typed>({})
  const { run, isRunning, failure } = useAction<void>()
  const { contentBytes, memories } = settings.limits
  const current = {
    ...settings,
    contentBytes: String(contentBytes),
    memories: String(memories),
  }
  const save = (): void => {
    void run(async () => {
      await ask('settings.update', changeOf(typed))
      setTyped({})
      notice.value = 'Saved'
    })
  }
  return (
    <form onSubmit={submitting(save)}>
      <div class="form">
        {fields.map(([name, label, kind]) => (
          <Field
            key={name}
            label={label}
            {...kind}
            value={typed[name] ?? current[name]}
            onValue={(value) => setTyped({ ...typed, [name]: value })}
          />
        ))}
      </div>
      {mayManage.value ? (
        <div class="go">
          <button type="submit" class="pri" aria-disabled={isRunning}>
            Save
          </button>
          <Failure failure={failure} />
        </div>
      ) : (
        <p class="dim">An owner can change them.</p>
      )}
    </form>
  )
}

function changeOf({ contentBytes, memories, ...texts }: Typed): InputOf<'settings.update'> {
  return {
    ...texts,
    ...(contentBytes !== undefined && { contentBytes: Number(contentBytes) }),
    ...(memories !== undefined && { memories: Number(memories) }),
  }
}

interface GuardProps {
  readonly isOn: boolean
  /** SHA-256 in hex. */
  readonly allowed: readonly string[]
}

/** Whether texts that seem to hold a secret are refused, and which memories it would refuse now. */
function Guard({ isOn, allowed }: GuardProps) {
  const turn = useAction<object>()
  const check = useAction<ResultOf<'guard.check'>>()
  const found = check.result?.findings
  return (
    <section>
      <h2>Guard</h2>
      <p>
        {isOn
          ? 'On: texts that seem to hold a secret are refused, on every device.'
          : 'Off: keys and card numbers are not refused.'}
      </p>
      <p>
        {mayManage.value && (
          <button
            type="button"
            aria-disabled={turn.isRunning}
            onClick={() => void turn.run(() => ask('settings.update', { guard: !isOn }))}
          >
            {isOn ? 'Turn the guard off' : 'Turn the guard on'}
          </button>
        )}{' '}
        <button
          type="button"
          aria-disabled={check.isRunning}
          onClick={() => void check.run((options) => ask('guard.check', {}, options))}
        >
          What would it refuse now?
        </button>
      </p>
      <Failure failure={turn.failure} />
      {isOn && <AllowedTexts allowed={allowed} />}
      <Failure failure={check.failure} />
      <ProgressBar progress={check.progress} />
      <p role="status">
        {check.isRunning && 'Reading all memories…'}
        {found !== undefined &&
          (found.length === 0 ? 'Nothing.' : `${countOf(found.length, 'finding')}:`)}
      </p>
      {found !== undefined && found.length > 0 && (
        <Slices label="Findings" rows={found}>
          {(rows) => (
            <ul>
              {rows.map(({ memoryId, path, rule, line }) => (
                <li key={`${memoryId} ${rule} ${line}`}>
                  <a href={addressOf.memory(memoryId, { tab: 'source' })}>{path}</a>: {rule}
                  {line !== undefined && `, line ${line}`}
                </li>
              ))}
            </ul>
          )}
        </Slices>
      )}
    </section>
  )
}

/** A person decides here about one exact text, which the refusal has named by its hash. */
function AllowedTexts({ allowed }: Pick<GuardProps, 'allowed'>) {
  const [sha256, setSha256] = useState('')
  const { run, isRunning, failure } = useAction<void>()
  const decide = (text: string, isAllowed: boolean): void => {
    void run(async () => {
      await ask('guard.allow', { sha256: text, isAllowed })
      if (isAllowed) setSha256('')
    })
  }
  return (
    <>
      {allowed.length > 0 && (
        <ul aria-label="Texts let through">
          {allowed.map((text) => (
            <li key={text}>
              <code>{text}</code>{' '}
              {mayManage.value && (
                <button type="button" aria-disabled={isRunning} onClick={() => decide(text, false)}>
                  No longer let through
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {mayManage.value && (
        <form onSubmit={submitting(() => decide(sha256.trim().toLowerCase(), true))}>
          <div class="form">
            <Field
              label="SHA-256 of a refused text"
              value={sha256}
              onValue={setSha256}
              isRequired
            />
          </div>
          <div class="go">
            <button type="submit" aria-disabled={isRunning}>
              Let this text through
            </button>
          </div>
        </form>
      )}
      <Failure failure={failure} />
    </>
  )
}
