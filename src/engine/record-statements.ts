// The statements of the records of a host (sql-records.ts, row-index.ts). A change writes in the
// same statement which rows it wrote or removed, as a hint for other servers.

import { sqlStatements } from './pool.ts'

const columns = 'id, scope, time, weight, generation, body'
export const recordStatements = sqlStatements({
  shareEngine: 'select from gl_engine for share',
  findFilling: `select from gl_mark where store = '' and state = 'filling'`,
  findList: 'select generation, head from gl_list where list = $1',
  addList:
    'insert into gl_list (list, generation, head) values ($1, $2, $3) on conflict do nothing',
  holdList: 'select generation, head from gl_list where list = $1 for update',
  moveList: 'update gl_list set generation = $2, head = $3 where list = $1',
  findRecords: `select kind, ${columns} from gl_record
    where list = $1 and (kind, id) in (select * from unnest($2::text[], $3::text[]))`,
  addedRecords: `select ${columns} from gl_record where list = $1 and kind = $2 order by added, id`,
  newestRecords: `select ${columns} from gl_record where list = $1 and kind = $2
    order by time desc, id desc`,
  countRecords: 'select count(*) from gl_record where list = $1 and kind = $2',
  pageRecords: `select ${columns} from gl_record where list = $1 and kind = $2 and scope = $3
    and time >= $4 and time <= $5 and (time, id) < ($6, $7) and ($8::text[] is null or id = any($8))
    order by time desc, id desc limit $9`,
  tallyRecords: `select count(*), coalesce(sum(weight), 0) as weight from gl_record
    where list = $1 and kind = $2 and scope = $3 and time > $4`,
  /* Each of these returns the rows that it wrote or removed. */
  addRecord: `with made as (
      insert into gl_record (list, kind, id, scope, time, weight, generation, added, hash, body)
      values ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9) on conflict do nothing
      returning id),
    noted as (insert into gl_change (list, generation, kind, id, hash)
      select $1, $7, $2, id, $8 from made
      on conflict (list, generation, kind, id) do update set hash = excluded.hash)
    select id from made`,
  replaceRecord: `with made as (
      update gl_record set weight = $5, generation = $6, hash = $7, body = $8
      where list = $1 and kind = $2 and id = $3 and generation = $4
      returning id),
    noted as (insert into gl_change (list, generation, kind, id, hash)
      select $1, $6, $2, id, $7 from made
      on conflict (list, generation, kind, id) do update set hash = excluded.hash)
    select id from made`,
  removeRecord: `with made as (
      delete from gl_record where list = $1 and kind = $2 and id = $3
      returning id),
    noted as (insert into gl_change (list, generation, kind, id, hash)
      select $1, $4::bigint, $2, id, null from made
      on conflict (list, generation, kind, id) do update set hash = excluded.hash)
    select id from made`,
  expectRecord: `select from gl_record
    where list = $1 and kind = $2 and id = $3 and generation = $4`,
  dropRecords: 'delete from gl_record where list = $1',
  clearRecords: `with made as (
      delete from gl_record where list = $1 and kind = $2 and scope = $3
      returning id),
    noted as (insert into gl_change (list, generation, kind, id, hash)
      select $1, $4::bigint, $2, id, null from made
      on conflict (list, generation, kind, id) do update set hash = excluded.hash)
    select id from made`,
  expireRecords: `with made as (
      delete from gl_record where list = $1 and kind = $2 and time <= $3
      returning id),
    noted as (insert into gl_change (list, generation, kind, id, hash)
      select $1, $4::bigint, $2, id, null from made
      on conflict (list, generation, kind, id) do update set hash = excluded.hash)
    select id from made`,
  forgetChanges: 'delete from gl_change where list = $1 and generation <= $2',
  changedRows: `select kind, id, generation, hash from gl_change
    where list = $1 and generation > $2 and generation <= $3 order by generation`,
  /* In one statement, so that all of it is of one moment. */
  allRows: `select '' as kind, '' as id, generation, null as hash, head
      from gl_list where list = $1
    union all select kind, id, generation, hash, null from gl_record where list = $1`,
  allBodies: 'select kind, id, generation, hash, body from gl_record where list = $1',
  correctHash: 'update gl_record set hash = $4 where list = $1 and kind = $2 and id = $3',
})
