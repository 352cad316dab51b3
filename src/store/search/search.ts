// Finds memories by what they say.

import { type Page, type Paged, paged } from '../../page.ts'
import { readMemory } from '../history/contents.ts'
import type { StoreSession } from '../session/session.ts'
import { describeMemory } from '../snapshot/memory-info.ts'
import type { SearchHit, SearchQuery } from './search-query.ts'

export function searchStore(session: StoreSession, query: SearchQuery): Paged<SearchHit> {
  return paged((after) => readPage(session, { ...query, after }), query.after)
}

function readPage(
  session: StoreSession,
  { query, limit = 20 }: SearchQuery,
): Promise<Page<SearchHit>> {
  const wanted = query.toLowerCase()
  return session.reading((snapshot) => {
    const data: SearchHit[] = []
    for (const { live } of snapshot.current.live()) {
      const lines = readMemory(session.contents, live).split('\n')
      const index = lines.findIndex((line) => line.toLowerCase().includes(wanted))
      if (index === -1 || data.length === limit) continue
      const snippet = (lines[index] ?? '').slice(0, 200)
      data.push({ memory: describeMemory(live), score: 1, line: index + 1, snippet })
    }
    return { data, nextPage: undefined }
  })
}
