// The settings for access to remotes: the variables of this process, so that the user's ssh and
// credential helpers work. Never prompts.

import type { Progress } from '../../async.ts'
import { findTextFile } from '../../home/files.ts'
import type { RemoteOptions, TransferProgress } from '../../transport/remote-access.ts'
import type { Context } from '../call/command.ts'
import { variablesWith } from '../call/environment.ts'

export function remoteAccess({ environment, accepted }: Context): RemoteOptions {
  const { certificatesFile: file } = environment
  const certificateAuthorities =
    file && findTextFile('the certificates of GIT_SSL_CAINFO', file, true)
  return { environment: variablesWith({}), certificateAuthorities, accepted }
}

/** Reports transferred bytes to a progress bar. */
export function transferProgress(progress: Progress): (step: TransferProgress) => void {
  return ({ done, total }) => {
    if (total !== undefined) progress(done, total)
  }
}
