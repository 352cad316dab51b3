// Defects of the defaults of an agent's requests.

import type { MutatedFile } from '../mutant.ts'

export const agents: readonly MutatedFile[] = [
  {
    file: 'anthropic/agent-defaults.ts',
    mutants: [
      {
        line: `exclude_tools: [...new Set(['memory', ...excludeTools])],`,
        becomes: 'exclude_tools: [...excludeTools],',
        test: 'conformance/agent-defaults.test.ts',
        name: 'by default: thinking is cleared first, then tools but for the memory',
      },
      {
        line: '...(thinking ? [clearThinking(options)] : []),',
        becomes: 'clearThinking(options),',
        test: 'conformance/agent-defaults.test.ts',
        name: 'without thinking there is none to clear',
      },
      {
        line: `if (isCompacting) betas.push('compact-2026-01-12')`,
        becomes: '',
        test: 'conformance/agent-defaults.test.ts',
        name: 'with every option',
      },
    ],
  },
]
