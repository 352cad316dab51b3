// The operations of the memory tool: what actions.ts does, with the schemas of the inputs, for
// adapters whose inputs come from outside.

import * as actions from './actions.ts'
import { operationsIn } from './operation.ts'
import * as schemas from './schemas.ts'

const toolOperation = operationsIn<actions.OperationContext>()

export const view = toolOperation({ ...actions.view, input: schemas.viewInput })
export const create = toolOperation({ ...actions.create, input: schemas.createInput })
export const strReplace = toolOperation({ ...actions.strReplace, input: schemas.strReplaceInput })
export const insert = toolOperation({ ...actions.insert, input: schemas.insertInput })
/** Deletes a file, or a directory with everything below it. */
export const remove = toolOperation({ ...actions.remove, input: schemas.deleteInput })
export const rename = toolOperation({ ...actions.rename, input: schemas.renameInput })
