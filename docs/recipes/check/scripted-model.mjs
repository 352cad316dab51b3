// A scripted model on a local port, for real clients over real HTTP: it speaks the format of
// OpenAI's chat completions, answers each request with the next reply of a script, and refuses, as
// the real API would, what that does not allow. Knows nothing of gitlocket.

import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

/** A reply of a script that calls a tool: each input by the id of its call. */
export function calls(tool, inputs) {
  return Object.entries(inputs).map(([id, input]) => ({
    id,
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(input) },
  }))
}

/** Starts it with a script of texts and `calls`. */
export async function startModel(script) {
  const requests = []
  const refusals = []
  const server = createServer(async (request, response) => {
    response.setHeader('content-type', 'application/json')
    try {
      const body = requestOf(request, await text(request))
      const reply = script[requests.push(body) - 1]
      if (reply === undefined) throw new Error('The script has no reply left')
      response.end(JSON.stringify(completion(body, reply)))
    } catch ({ message }) {
      refusals.push(message)
      response.statusCode = 400
      response.end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }))
    }
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${server.address().port}/v1`
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url, requests, refusals, close }
}

/** What the newest messages of a request say that tools have answered, by the id of the call. */
export function resultsOf({ messages }) {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const results = messages.slice(last + 1)
  return Object.fromEntries(results.map((result) => [result.tool_call_id, result.content]))
}

function requestOf({ method, url, headers }, json) {
  if (method !== 'POST' || url !== '/v1/chat/completions') throw new Error(`${method} ${url}`)
  if (!headers.authorization?.startsWith('Bearer ')) throw new Error('No API key is provided')
  const body = JSON.parse(json)
  for (const [index, message] of body.messages.entries()) {
    const asked = (message.tool_calls ?? []).map(({ id }) => id)
    const after = body.messages.slice(index + 1)
    const end = after.findIndex(({ role }) => role !== 'tool')
    const answered = after.slice(0, end === -1 ? undefined : end).map((one) => one.tool_call_id)
    if (message.role === 'assistant' && String(asked.toSorted()) !== String(answered.toSorted())) {
      throw new Error(
        `messages.${index}: each tool call needs its result, and nothing else has one`,
      )
    }
  }
  return body
}

function completion({ model }, reply) {
  const isText = typeof reply === 'string'
  const message = isText ? { content: reply } : { content: null, tool_calls: reply }
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_800_000_000,
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', refusal: null, ...message },
        logprobs: null,
        finish_reason: isText ? 'stop' : 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
  }
}
