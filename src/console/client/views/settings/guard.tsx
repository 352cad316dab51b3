// The guard: whether texts with what seems to be a secret are refused, which of them an owner has
// let through, and which memories it would refuse now.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ResultOf } from '../../../../api/console/contract.ts'
import { addressOf } from '../../core/address.ts'
import { ask } from '../../core/ask.ts'
import { mayManage } from '../../core/state.ts'
import { useAction } from '../../core/use-action.ts'
import { Failure } from '../../parts/failure.tsx'
import { Field } from '../../parts/field.tsx'
import { ProgressBar } from '../../parts/labels.tsx'
import { Slices } from '../../parts/slices.tsx'
import { countOf } from '../../parts/times.ts'

interface GuardProps {
  readonly isOn: boolean
  /** SHA-256 in hex. */
  readonly allowed: readonly string[]
}

export function Guard({ isOn, allowed }: GuardProps): JSX.Element {
  const turn = useAction<object>()
  const check = useAction<ResultOf<'guard.check'>>()
  const found = check.result?.findings
  return (
    <section>
      <h2>Guard</h2>
      <p>
        {isOn
          ? 'On: texts with what seems to be a secret are refused, on every device.'
          : 'Off: texts are stored whatever is in them.'}
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
      {turn.failure !== undefined && <Failure failure={turn.failure} />}
      {isOn && <AllowedTexts allowed={allowed} />}
      {check.failure !== undefined && <Failure failure={check.failure} />}
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
function AllowedTexts({ allowed }: Pick<GuardProps, 'allowed'>): JSX.Element {
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
        <form
          onSubmit={(event) => {
            event.preventDefault()
            decide(sha256.trim().toLowerCase(), true)
          }}
        >
          <div class="form">
            <Field
              label="SHA-256 of a refused text"
              value={sha256}
              onValue={setSha256}
              isRequired={true}
            />
          </div>
          <div class="go">
            <button type="submit" aria-disabled={isRunning}>
              Let this text through
            </button>
          </div>
        </form>
      )}
      {failure !== undefined && <Failure failure={failure} />}
    </>
  )
}
