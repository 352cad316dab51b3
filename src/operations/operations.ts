// The operations of the memory tool: what actions.ts does, with the schemas of the inputs, for
// adapters whose inputs come from outside.

import * as actions from './actions.ts'
import { type OperationContext, operationsIn } from './operation.ts'
import * as schemas from './schemas.ts'

const toolOperation = operationsIn<OperationContext>()

export const view = toolOperation({
  name: 'view',
  effect: 'read',
  input: schemas.viewInput,
  run: ({ store }, input) => actions.viewPath(store, input),
})

export const create = toolOperation({
  name: 'create',
  effect: 'write',
  input: schemas.createInput,
  run: actions.create,
})

export const strReplace = toolOperation({
  name: 'str_replace',
  effect: 'write',
  input: schemas.strReplaceInput,
  run: actions.strReplace,
})

export const insert = toolOperation({
  name: 'insert',
  effect: 'write',
  input: schemas.insertInput,
  run: actions.insert,
})

/** Deletes a file, or a directory with everything below it. */
export const remove = toolOperation({
  name: 'delete',
  effect: 'write',
  input: schemas.deleteInput,
  run: actions.remove,
})

export const rename = toolOperation({
  name: 'rename',
  effect: 'write',
  input: schemas.renameInput,
  run: actions.rename,
})
