// The difference of two versions of a memory; redacted versions are named, and never compared.

import type { ComponentChildren } from 'preact'
import type { FullVersion } from '../../../store/history/versions.ts'
import { useAsk } from '../core/use-ask.ts'
import { DiffTable } from './diff-table.tsx'
import { Pending } from './labels.tsx'

interface VersionsDiffProps {
  /** `memver_…`; undefined for no text, `base` for the version that `after` replaced. */
  readonly before: string | undefined
  readonly after: string
  readonly label: string
  /** A heading. */
  readonly children?: (before: FullVersion | undefined, after: FullVersion) => ComponentChildren
}

export function VersionsDiff({ before, after, label, children }: VersionsDiffProps) {
  const right = useAsk('version.show', { versionId: after })
  const earlier = before === 'base' ? right.data?.baseVersionId : before
  const left = useAsk('version.show', earlier === undefined ? undefined : { versionId: earlier })
  const failure = left.failure ?? right.failure
  if (failure !== undefined || right.data === undefined || left.isAsking) {
    return <Pending failure={failure} />
  }
  const isRedacted = [left.data, right.data].some((one) => one?.redactedAt !== undefined)
  return (
    <>
      {children?.(left.data, right.data)}
      {isRedacted ? (
        <p>A text is redacted: there is nothing to compare. Its author and time remain known.</p>
      ) : (
        <DiffTable before={left.data?.content} after={right.data.content} label={label} />
      )}
    </>
  )
}
