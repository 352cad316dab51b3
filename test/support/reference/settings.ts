// FORMAT §5.1: the plaintext of a settings blob. Canonical JSON: a reader encodes it again and
// compared. The encoder spells out the keys, because JavaScript objects put integer-like metadata
// keys first and the document sorts by code unit.

import { concat, equal, Reader, u32, u8, utf8, utf8Text } from './bytes.ts'
import { hasControl, isWellFormed } from './characters.ts'
import { checkPadding } from './envelope.ts'
import { ensure, refuse } from './refusal.ts'

export interface Settings {
  readonly name: string
  readonly description: string
  readonly metadata: ReadonlyMap<string, string>
  /** Milliseconds since 1970. */
  readonly archivedAt: number | undefined
  readonly limits: { readonly contentBytes: number; readonly memories: number }
}

function settingsJson(settings: Settings): string {
  const sorted = [...settings.metadata].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const pairs = sorted.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
  const { contentBytes, memories } = settings.limits
  return (
    `{"name":${JSON.stringify(settings.name)},` +
    `"description":${JSON.stringify(settings.description)},` +
    `"metadata":{${pairs.join(',')}},"archived_at":${settings.archivedAt ?? 'null'},` +
    `"limits":{"content_bytes":${contentBytes},"memories":${memories}}}`
  )
}

/** The plaintext, before padding. */
export function encodeSettings(settings: Settings): Uint8Array {
  const json = utf8(settingsJson(settings))
  return concat(u8(1), u8(0), u32(json.length), json)
}

/** Padded plaintext to settings; else `settings_malformed` or `envelope_padding`. */
export function decodeSettings(padded: Uint8Array): Settings {
  const reader = new Reader(padded, 'settings_malformed')
  ensure(reader.u8() === 1, 'upgrade_required', 'The settings blob has another version')
  ensure(reader.u8() === 0, 'settings_malformed', 'A reserved byte is set')
  const json = reader.raw(reader.u32())
  ensure(json.length <= 65_536, 'settings_malformed', 'The settings have at most 65,536 bytes')
  checkPadding('settings', padded, reader.offset)
  const settings = settingsOf(parseJson(utf8Text(json, 'settings_malformed')))
  const canonical = equal(utf8(settingsJson(settings)), json)
  ensure(canonical, 'settings_malformed', 'The JSON is not in its one form')
  return settings
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return refuse('settings_malformed', 'The settings are not JSON')
  }
}

function settingsOf(json: unknown): Settings {
  const all = fields(json)
  const limits = fields(all.get('limits'))
  const archivedAt = all.get('archived_at')
  const name = text(all.get('name'), 1, 255)
  ensure(!hasControl(name), 'settings_malformed', 'The name has a control character')
  return {
    name,
    description: text(all.get('description'), 0, 1024),
    metadata: metadataOf(all.get('metadata')),
    archivedAt: archivedAt === null ? undefined : integer(archivedAt, 0, 8.64e15),
    limits: {
      contentBytes: integer(limits.get('content_bytes'), 1, 16_777_216),
      memories: integer(limits.get('memories'), 1, 1_000_000),
    },
  }
}

function metadataOf(json: unknown): Map<string, string> {
  const pairs = fields(json)
  const own = [...pairs.keys()].filter((key) => key.startsWith('gitlocket_')).length
  ensure(pairs.size - own <= 16, 'settings_malformed', 'There are at most 16 metadata pairs')
  ensure(own <= 64, 'settings_malformed', 'There are at most 64 pairs of gitlocket_*')
  const metadata = new Map<string, string>()
  for (const [key, value] of pairs) metadata.set(text(key, 1, 64), text(value, 0, 512))
  return metadata
}

function fields(json: unknown): Map<string, unknown> {
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json)
  if (!isObject) return refuse('settings_malformed', 'An object is missing')
  return new Map(Object.entries(json))
}

/** A well-formed string of a number of code points. */
function text(json: unknown, least: number, most: number): string {
  if (typeof json !== 'string') return refuse('settings_malformed', 'A string is missing')
  ensure(isWellFormed(json), 'settings_malformed', 'A string has a lone surrogate')
  const length = Array.from(json).length
  ensure(length >= least && length <= most, 'settings_malformed', 'A string has another length')
  return json
}

function integer(json: unknown, least: number, most: number): number {
  if (typeof json !== 'number' || !Number.isSafeInteger(json) || json < least || json > most) {
    return refuse('settings_malformed', 'A number is missing or out of its range')
  }
  return json
}
