// Replaces a conversation by a summary that the program asks for, after the model has written down
// what has to last. Needs the newer generation of the SDK, 1.x.

const reminder =
  'This conversation will now be replaced by a summary. Write into your memory what has to last: ' +
  'decisions, results, what is next.'

/**
 * The messages that continue the conversation. `params` are those of its tool runner, with the
 * memory tool; their messages end with an answer of the model.
 * @param {import('@anthropic-ai/sdk').Anthropic} client
 * @param {Parameters<typeof client.beta.messages.toolRunner>[0]} params
 */
export async function saveThenCompact(client, params) {
  const runner = client.beta.messages.toolRunner({
    ...params,
    betas: [...(params.betas ?? []), 'compact-2026-09-04'],
    messages: [...params.messages, { role: 'user', content: reminder }],
    stream: false,
    thread: false,
  })
  let isReplaced = false
  for await (const { content, stop_reason } of runner) {
    // All that the model wants to write is written, and no call of a tool is open.
    if (stop_reason === 'end_turn') runner.compactBeforeNextTurn()
    isReplaced = content.some((block) => block.type === 'compaction' && block.content)
  }
  if (!isReplaced)
    throw new Error('The API made no summary: continue with the messages as they are')
  return runner.params.messages
}
