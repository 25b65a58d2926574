import { expect, test } from 'vitest'
import { eachWithApp } from './import-fixture.ts'

// What an import changed: its counts, and the changes file.
const app = eachWithApp(['u1', 'u2', 'u3', 'u4'], { BATCH_ROWS: '3' })
const header = 'user_id,key,type,before,after\n'
const keep = { keepChanges: true, clearMarker: '#' }
const noCounts = { added: 0, changed: 0, removed: 0 }

// changes.md §1, Counts; changes.md §1, The changes file.
test('a first import adds each value, and its changes file has them in the order of rows and columns', async () => {
  const { view, changesFile } = await app.importFile(
    'user_id,name,b,"a,b",at\nu1,"x ""y"", z",1,1.5,2024-03-31T02:30:00+02:00\nu2,,2,,\nnobody,n,1,1.5,\n',
    keep,
  )
  expect(changesFile).toBe(
    `${header}u1,name,string,,"x ""y"", z"\nu1,b,int,,1\nu1,"a,b",decimal,,1.5\nu1,at,datetime,,2024-03-31T00:30:00.000Z\nu2,b,int,,2\n`,
  )
  expect(view.changes).toEqual({
    rows: { created: 2, changed: 0 },
    values: { ...noCounts, added: 5 },
    keys: {
      name: { ...noCounts, added: 1 },
      b: { ...noCounts, added: 2 },
      'a,b': { ...noCounts, added: 1 },
      at: { ...noCounts, added: 1 },
    },
  })
  expect(view.rows_changed).toBe(2)
})

// changes.md §1, Counts.
test('each row is compared with what the rows before it left, wherever batches end', async () => {
  await app.importFile('user_id,plan,score\nu1,a,1\nu4,x,2.50\n', { profileTypes: { score: 'decimal' } })
  const rows = ['u1,b,1', 'u1,a,', 'u2,new,3', 'u1,#,#', 'u1,c,', 'u4,x,2.5', 'u2,#,#', 'u2,again,', 'u4,,4.0']
  const { view, changesFile } = await app.importFile(`user_id,plan,score\n${rows.join('\n')}\n`, keep)
  expect(changesFile).toBe(
    `${header}u1,plan,string,a,b\nu1,plan,string,b,a\nu2,plan,string,,new\nu2,score,decimal,,3.0\nu1,plan,string,a,\nu1,score,decimal,1.0,\nu1,plan,string,,c\n` +
      'u2,plan,string,new,\nu2,score,decimal,3.0,\nu2,plan,string,,again\nu4,score,decimal,2.5,4.0\n',
  )
  expect(view.changes?.rows).toEqual({ created: 3, changed: 5 })
  expect(view.changes?.values).toEqual({ added: 4, changed: 3, removed: 4 })
  expect(view.rows_changed).toBe(8)
})

// changes.md §1, Dry run and import agree.
test.each([false, true])(
  'changes of users who follow others without profiles are found (dry run: %s)',
  async (dryRun) => {
    await app.importFile('user_id,n\nu4,1\n')
    // The new key makes the second batch wait for the first, which found no profiles.
    const rows = ['u1,1,x', 'u2,1,', 'u3,1,', 'u4,#,']
    const { view, changesFile } = await app.importFile(`user_id,n,new\n${rows.join('\n')}\n`, { ...keep, dryRun })
    expect(changesFile).toContain('u4,n,int,1,\n')
    expect(view.changes?.rows).toEqual({ created: 3, changed: 1 })
    expect((await app.profiles()).u4).toEqual(dryRun ? { n: 1 } : {})
  },
)

test('a dry run finds other values of users who follow others without profiles', async () => {
  await app.importFile('user_id,n\nu4,1\n')
  const dryRun = { ...keep, dryRun: true }
  const { changesFile } = await app.importFile('user_id,n,new\nu1,1,x\nu2,1,\nu3,1,\nu4,2,\n', dryRun)
  expect(changesFile).toContain('u4,n,int,1,2\n')
})

// changes.md §1, Asking for it.
test('a file without changes has a changes file with the header alone, and an import that keeps none has no file', async () => {
  const file = 'user_id,plan\nu1,a\n'
  const first = await app.importFile(file)
  expect([first.view.changes, first.view.changes_file_url, first.view.keep_changes]).toEqual([null, null, false])
  const second = await app.importFile(file, keep)
  expect(second.changesFile).toBe(header)
  expect(second.view.changes).toEqual({ rows: { created: 0, changed: 0 }, values: noCounts, keys: {} })
})
