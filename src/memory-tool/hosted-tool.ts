// The operation behind `POST /v1/gitlocket/memory_tool`: one command of the memory tool on stores
// of a server. A refusal that the model reads is an answer, not an error of the request.

import { hostOperation } from '../api/hosted.ts'
import { objectField, parameters } from '../api/schemas.ts'
import { idField } from '../api/wire-fields.ts'
import { hostedMounts } from './hosted-mounts.ts'
import { isFault } from './refusal.ts'
import { commandRunner } from './run-command.ts'
import { answerTool } from './tool-answer.ts'
import { ToolSpace } from './tool-space.ts'

/** A store that is named is `/memories`; those of a session are directories of it. */
export const runMemoryTool = hostOperation({
  name: 'the memory tool',
  effect: 'write',
  input: parameters({
    input: objectField('the input of the memory tool as the model wrote it'),
    memory_store_id: idField('the memory store').nullish(),
  }),
  run: async ({ host, caller }, { input, memory_store_id: storeId }) => {
    const isOne = typeof storeId === 'string'
    const mounts = hostedMounts(host, caller, isOne ? [storeId] : undefined)
    const [only] = mounts
    const space = isOne && only !== undefined ? ToolSpace.ofOne(only) : ToolSpace.ofSeveral(mounts)
    return { ...(await answerTool(commandRunner(space), () => input, isFault)) }
  },
})
