// The settings for access to remotes: the variables of this process, so that the user's ssh and
// credential helpers work. Never prompts.

import { findTextFile } from '../../home/files.ts'
import type { RemoteOptions } from '../../transport/remote-access.ts'
import type { Context } from '../call/command.ts'
import { variablesWith } from '../call/environment.ts'

export function remoteAccess({ environment, accepted, proxies }: Context): RemoteOptions {
  const { certificatesFile: file } = environment
  const certificateAuthorities =
    file && findTextFile('the certificates of GIT_SSL_CAINFO', file, true)
  return { environment: variablesWith({}), certificateAuthorities, accepted, proxies }
}
