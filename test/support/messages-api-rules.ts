// What the Messages API refuses, as far as the SDKs' types and the documentation say it: header,
// context management, thinking, and the order of messages. Each check throws with the reason.

import type { IncomingMessage } from 'node:http'

export type Block = Readonly<Record<string, unknown>>

export interface Message {
  readonly role: string
  readonly content: string | readonly Block[]
}

const contextBeta = 'context-management-2025-06-27'
const compactBeta = 'compact-2026-01-12'
const summarizeBeta = 'compact-2026-09-04'
const betas: ReadonlySet<string> = new Set([
  contextBeta,
  compactBeta,
  summarizeBeta,
  'message-threads-2026-08-12',
])
/** What a request on a message thread must not have. */
const unthreadable = ['cache_control', 'context_management', 'fallbacks', 'thinking']

interface EditRule {
  readonly beta: string
  readonly fields: readonly string[]
}

const edits: Readonly<Record<string, EditRule>> = {
  clear_thinking_20251015: { beta: contextBeta, fields: ['keep'] },
  clear_tool_uses_20250919: {
    beta: contextBeta,
    fields: ['trigger', 'keep', 'clear_at_least', 'clear_tool_inputs', 'exclude_tools'],
  },
  compact_20260112: {
    beta: compactBeta,
    fields: ['trigger', 'instructions', 'pause_after_compaction'],
  },
}
const compactTriggerMin = 50_000

export function checkRequest(request: IncomingMessage): void {
  const { method, url = '', headers } = request
  if (method !== 'POST' || url.split('?')[0] !== '/v1/messages') {
    throw new Error(`${method} ${url}: no such endpoint`)
  }
  const credential = headers['x-api-key'] ?? headers.authorization
  if (credential === undefined) throw new Error('x-api-key: header is required')
  if (headers['anthropic-version'] === undefined) {
    throw new Error('anthropic-version: header is required')
  }
  const unknown = betasOf(request).find((beta) => !betas.has(beta))
  if (unknown !== undefined) throw new Error(`Unexpected value(s) ${unknown} for anthropic-beta`)
}

export function betasOf({ headers }: IncomingMessage): readonly string[] {
  const values = [headers['anthropic-beta'] ?? []].flat().flatMap((value) => value.split(','))
  return values.filter((value) => value !== '')
}

/** `sent` are the betas of the header. */
export function checkBody(body: Block, sent: readonly string[]): void {
  const { max_tokens: maxTokens, model, thinking } = body
  if (typeof model !== 'string') throw new Error('model: field required')
  if (!isPositive(maxTokens)) throw new Error('max_tokens: field required')
  if (thinking !== undefined) checkThinking(recordOf(thinking, 'thinking'), maxTokens)
  if (body['compaction'] !== undefined) checkCompaction(body, sent)
  const management = body['context_management']
  if (management === undefined || management === null) return
  const { edits: list = [] } = recordOf(management, 'context_management')
  if (!Array.isArray(list)) throw new Error('context_management.edits: should be a list')
  checkEdits(
    list.map((edit) => recordOf(edit, 'edit')),
    sent,
    isThinking(body),
  )
}

/** The features for which the API refuses to keep a message thread. */
export function unthreadableIn(body: Block): readonly string[] {
  return body['thread'] === undefined ? [] : unthreadable.filter((name) => name in body)
}

function checkCompaction(body: Block, sent: readonly string[]): void {
  const { type } = recordOf(body['compaction'], 'compaction')
  if (type !== 'summarize') throw new Error('compaction: should be `summarize`')
  if (!sent.includes(summarizeBeta)) throw new Error(`compaction: needs ${summarizeBeta}`)
  if ('context_management' in body) {
    throw new Error('compaction: cannot be combined with `context_management`')
  }
}

function checkEdits(list: readonly Block[], sent: readonly string[], thinking: boolean): void {
  const types = list.map(({ type }) => String(type))
  if (new Set(types).size < types.length) throw new Error('edits: each strategy once')
  if (types.indexOf('clear_thinking_20251015') > 0) {
    throw new Error('`clear_thinking_20251015` must be the first strategy')
  }
  for (const [index, edit] of list.entries()) {
    const { type, ...fields } = edit
    const rule = edits[String(type)]
    if (rule === undefined) throw new Error(`context_management.edits.${index}: unknown type`)
    const extra = Object.keys(fields).find((field) => !rule.fields.includes(field))
    if (extra !== undefined) throw new Error(`edits.${index}.${extra}: Extra inputs`)
    if (!sent.includes(rule.beta)) throw new Error(`context_management: needs ${rule.beta}`)
    checkEdit(edit, thinking)
  }
}

function checkEdit(edit: Block, thinking: boolean): void {
  const { type, keep, trigger, clear_at_least: least } = edit
  if (type === 'clear_thinking_20251015') {
    if (!thinking) throw new Error(`\`${type}\` strategy requires \`thinking\` to be enabled`)
    if (keep !== undefined && keep !== 'all') checkCount(keep, ['thinking_turns'], 1)
    return
  }
  const isCompaction = type === 'compact_20260112'
  const kinds = isCompaction ? ['input_tokens'] : ['input_tokens', 'tool_uses']
  if (trigger !== undefined) checkCount(trigger, kinds, isCompaction ? compactTriggerMin : 1)
  if (keep !== undefined) checkCount(keep, ['tool_uses'], 0)
  if (least !== undefined) checkCount(least, ['input_tokens'], 1)
}

function checkCount(value: unknown, types: readonly string[], least: number): void {
  const { type, value: count } = recordOf(value, 'edit')
  if (!types.includes(String(type))) throw new Error(`edit: ${String(type)} is not possible`)
  if (typeof count !== 'number' || !Number.isInteger(count) || count < least) {
    throw new Error(`edit: should be at least ${least}`)
  }
}

function checkThinking({ type, budget_tokens: budget }: Block, maxTokens: number): void {
  if (!['adaptive', 'enabled', 'disabled'].includes(String(type))) throw new Error('thinking: type')
  if (type === 'enabled' && !(isPositive(budget) && budget < maxTokens)) {
    throw new Error('thinking: budget_tokens should be below max_tokens')
  }
}

function isThinking({ thinking }: Block): boolean {
  return thinking !== undefined && recordOf(thinking, 'thinking')['type'] !== 'disabled'
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0
}

/**
 * `given` is the API's answer so far; `mayEnd` tells whether the last message may be the model's:
 * the API should continue it, or summarize the conversation.
 */
export function checkMessages(
  messages: readonly Message[],
  given: readonly Block[],
  mayEnd: boolean,
): void {
  const isSummary = blocksOf(messages[0]).some(
    ({ signature, type }) => type === 'compaction' && signature !== undefined,
  )
  if (messages[0]?.role !== 'user' && !isSummary) {
    throw new Error('messages: first message must be of the user')
  }
  if (messages.at(-1)?.role === 'assistant' && !mayEnd) {
    throw new Error('This model does not support assistant message prefill')
  }
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`
    const blocks = blocksOf(message)
    if (message.content.length === 0) throw new Error(`${at}: content must not be empty`)
    for (const block of blocks) checkBlock(at, block, given)
    const results = blocks.filter(isToolResult).length
    if (!blocks.slice(0, results).every(isToolResult)) {
      throw new Error(`${at}: tool_result blocks must come first`)
    }
  }
  checkResults(messages)
}

function checkBlock(at: string, block: Block, given: readonly Block[]): void {
  const { type, text } = block
  if (type === 'text' && (typeof text !== 'string' || text.trim() === '')) {
    throw new Error(`${at}: text content blocks must contain non-whitespace text`)
  }
  if (type !== 'thinking' && type !== 'compaction') return
  const sent = JSON.stringify(block)
  if (!given.some((one) => JSON.stringify(one) === sent)) {
    throw new Error(`${at}: ${type} blocks cannot be modified`)
  }
}

/** Each tool call is answered once, in the message right after it, and nothing else is. */
function checkResults(messages: readonly Message[]): void {
  const first = messages[0] === undefined ? [] : blocksOf(messages[0])
  if (first.some(isToolResult)) throw new Error('messages.0: unexpected tool_use_id')
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant') continue
    const calls = blocksOf(message).filter(isToolUse)
    const results = blocksOf(messages[index + 1]).filter(isToolResult)
    const asked = calls.map((call) => call['id'])
    const answered = results.map((result) => result['tool_use_id'])
    if (asked.length !== answered.length || asked.some((id) => !answered.includes(id))) {
      throw new Error(`messages.${index + 1}: each tool_use needs its tool_result`)
    }
  }
}

export function blocksOf(message: Message | undefined): readonly Block[] {
  return message === undefined || typeof message.content === 'string' ? [] : message.content
}

export function isToolUse(block: Block): boolean {
  return block['type'] === 'tool_use'
}

export function isToolResult(block: Block): boolean {
  return block['type'] === 'tool_result'
}

export function messageOf(value: unknown): Message {
  const { role, content } = recordOf(value, 'message')
  if (typeof role !== 'string') throw new Error('role: should be text')
  if (typeof content === 'string') return { role, content }
  if (!Array.isArray(content)) throw new Error('content: should be text or a list')
  return { role, content: content.map((block) => recordOf(block, 'content')) }
}

export function recordOf(value: unknown, name: string): Block {
  if (typeof value === 'object' && value !== null) return { ...value }
  throw new Error(`${name}: should be an object`)
}
