// The settings of a store (FORMAT §5.1) as canonical JSON: a reader encodes them again and
// compares, so that each value has one encoding.

import { ByteReader, ByteWriter, utf8, utf8Text } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import {
  contentBytesFormatMax,
  memoriesMax,
  metadataKeyCharactersMax,
  metadataPairsMax,
  metadataValueCharactersMax,
  ownPairsMax,
  settingsBytesMax,
  storeDescriptionCharactersMax,
  storeNameCharactersMax,
  timeMax,
} from '../limits.ts'
import { hasControls } from './characters.ts'
import { checkPadding } from './envelope.ts'
import { newerRelease } from './public-files.ts'

export interface Settings {
  readonly name: string
  readonly description: string
  readonly metadata: Readonly<Record<string, string>>
  /** Milliseconds since 1970; undefined while the store is not archived. */
  readonly archivedAt: number | undefined
  readonly limits: { readonly contentBytes: number; readonly memories: number }
}

const VERSION = 1

/** Begins the keys of the pairs that gitlocket itself keeps in the metadata. */
const OWN_PREFIX = 'gitlocket_'

export function encodeSettings(settings: Settings): Uint8Array {
  const json = utf8(toJson(settings))
  return new ByteWriter().u8(VERSION).u8(0).u32(json.length).raw(json).bytes()
}

/**
 * Decodes a padded plaintext. Throws `settings_malformed`, `upgrade_required`, `envelope_padding`.
 */
export function decodeSettings(padded: Uint8Array): Settings {
  const reader = new ByteReader(padded, malformed)
  if (reader.u8() !== VERSION) {
    throw newerRelease('the settings')
  }
  if (reader.u8() !== 0) throw malformed('a reserved byte is not zero')
  const length = reader.u32()
  if (length > settingsBytesMax) throw malformed('they are too long')
  const json = reader.raw(length)
  checkPadding('settings', padded, reader.offset)
  try {
    const text = utf8Text(json)
    const settings = checkSettings(fromJson(JSON.parse(text)))
    if (toJson(settings) === text) return settings
  } catch {
    // The parser's error quotes the text, which is plaintext.
    throw malformed('they do not follow the grammar')
  }
  throw malformed('they are not canonical')
}

/** Returns its argument. Throws `invalid_input`, which names the field. */
export function checkSettings(settings: Settings): Settings {
  const { name, description, metadata, archivedAt, limits } = settings
  checkText('The name', name, 1, storeNameCharactersMax)
  if (hasControls(name)) throw invalid('The name must not contain control characters')
  checkText('The description', description, 0, storeDescriptionCharactersMax)
  const pairs = Object.entries(metadata)
  const own = pairs.filter(([key]) => isOwnKey(key)).length
  if (pairs.length - own > metadataPairsMax) {
    throw invalid(`The metadata must have at most ${metadataPairsMax} pairs`)
  }
  if (own > ownPairsMax) {
    throw invalid(`The metadata must have at most ${ownPairsMax} pairs of ${OWN_PREFIX}*`)
  }
  for (const [key, value] of pairs) {
    checkText('A metadata key', key, 1, metadataKeyCharactersMax)
    checkText('A metadata value', value, 0, metadataValueCharactersMax)
  }
  if (archivedAt !== undefined) checkInteger('The time of archiving', archivedAt, 0, timeMax)
  checkInteger('The limit contentBytes', limits.contentBytes, 1, contentBytesFormatMax)
  checkInteger('The limit memories', limits.memories, 1, memoriesMax)
  if (utf8(toJson(settings)).length > settingsBytesMax) {
    throw invalid(`The settings must have at most ${settingsBytesMax} bytes`)
  }
  return settings
}

/** Whether a pair of the metadata is one of gitlocket's own, such as the guard's. */
export function isOwnKey(key: string): boolean {
  return key.startsWith(OWN_PREFIX)
}

/** The pairs of the metadata that are gitlocket's own, or those that are not. */
export function pairsOf(
  metadata: Settings['metadata'],
  whose: 'own' | 'users',
): Settings['metadata'] {
  const pairs = Object.entries(metadata).filter(([key]) => isOwnKey(key) === (whose === 'own'))
  return Object.fromEntries(pairs)
}

function toJson({ name, description, metadata, archivedAt, limits }: Settings): string {
  const members = [
    `"name":${JSON.stringify(name)}`,
    `"description":${JSON.stringify(description)}`,
    `"metadata":{${metadataJson(metadata)}}`,
    `"archived_at":${archivedAt ?? 'null'}`,
    `"limits":{"content_bytes":${limits.contentBytes},"memories":${limits.memories}}`,
  ]
  return `{${members.join(',')}}`
}

/** Sorted by code unit; a JavaScript object would put integer-like keys first. */
function metadataJson(metadata: Readonly<Record<string, string>>): string {
  return Object.entries(metadata)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
    .join(',')
}

/** `checkSettings` and encoding again check the shape. */
function fromJson(value: {
  name: string
  description: string
  metadata: Record<string, string>
  archived_at: number | null
  limits: { content_bytes: number; memories: number }
}): Settings {
  const { name, description, metadata, archived_at: archivedAt, limits } = value
  return {
    name,
    description,
    metadata,
    archivedAt: archivedAt ?? undefined,
    limits: { contentBytes: limits.content_bytes, memories: limits.memories },
  }
}

function checkText(what: string, text: unknown, min: number, max: number): void {
  if (typeof text === 'string' && text.isWellFormed()) {
    const characters = Array.from(text).length
    if (characters >= min && characters <= max) return
  }
  throw invalid(`${what} must be text of ${min} to ${max} characters`)
}

function checkInteger(
  what: string,
  value: unknown,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): void {
  if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) return
  throw invalid(`${what} must be an integer from ${min} to ${max}`)
}

function invalid(message: string): StoreError {
  return new StoreError('invalid_input', message)
}

function malformed(problem: string): StoreError {
  return new StoreError('settings_malformed', `The settings are malformed: ${problem}`)
}
