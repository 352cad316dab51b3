// The events in which the Messages API streams a message: pieces of a few characters, without
// regard for words, escape sequences or pairs of surrogates.

import type { Block } from './messages-api-rules.ts'

/** UTF-16 units of a piece. */
const PIECE = 5

/** The stream of a message, in order, as server-sent events. */
export function eventsOf(message: Block): readonly string[] {
  const { content, stop_reason, stop_details, usage, ...rest } = message
  const blocks = Array.isArray(content) ? content : []
  const start = { ...rest, content: [], stop_reason: null, stop_sequence: null, usage }
  const delta = { stop_reason, stop_details, stop_sequence: null }
  return [
    { type: 'message_start', message: start },
    ...blocks.flatMap(blockEvents),
    { type: 'message_delta', delta, usage, context_management: { applied_edits: [] } },
    { type: 'message_stop' },
  ].map(eventOf)
}

export function eventOf(event: Block): string {
  return `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`
}

function blockEvents(block: Block, index: number): readonly Block[] {
  const { empty, deltas } = partsOf(block)
  return [
    { type: 'content_block_start', index, content_block: { ...block, ...empty } },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

/** A block as it begins, and how the rest of it follows. */
function partsOf(block: Block): { readonly empty: Block; readonly deltas: readonly Block[] } {
  const { type, text, thinking, signature, input, content } = block
  if (type === 'text') {
    const deltas = piecesOf(text).map((piece) => ({ type: 'text_delta', text: piece }))
    return { empty: { text: '' }, deltas }
  }
  if (type === 'thinking') {
    const deltas = piecesOf(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece }))
    return {
      empty: { thinking: '', signature: '' },
      deltas: [...deltas, { type: 'signature_delta', signature }],
    }
  }
  if (type === 'tool_use') {
    const pieces = piecesOf(JSON.stringify(input))
    const deltas = pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece }))
    return { empty: { input: {} }, deltas }
  }
  return { empty: { content: null }, deltas: [{ type: 'compaction_delta', content }] }
}

function piecesOf(text: unknown): readonly string[] {
  return String(text).match(new RegExp(`[^]{1,${PIECE}}`, 'g')) ?? []
}
