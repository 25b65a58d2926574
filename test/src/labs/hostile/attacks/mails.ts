import { sql } from '@sluice/database'
import { upload } from '../../../stack/client.ts'
import { type Attack, atMost } from '../attack.ts'
import { pauseFor, secondsToEnd, signIn } from '../attackers.ts'

/** Text that an attacker tries to get into a mail's subject. */
const lure = 'Your account is at risk: http://evil.example'

export const mailAttacks: Attack[] = [
  {
    title: '400 strangers as members, and 12 files whose header is a message to them',
    async attack(context) {
      const { stack, urls, signal } = context
      const { appId, token, email } = await context.openAttacker()
      const visitor = await signIn(context, email)
      for (let index = 0; index < 400 && !signal.aborted; index++) {
        const fields = { email: `stranger-${index}-${appId}@example.org` }
        await visitor.post(`/apps/${appId}/settings/members`, fields, `/apps/${appId}/settings`)
      }
      for (let index = 0; index < 10; index++) {
        const importId = await upload(urls.api, token, Buffer.from(`user_id,${lure},${lure}\n${index}\n`))
        await secondsToEnd(context, token, importId)
      }
      const other = await context.openAttacker()
      const honest = await upload(urls.api, other.token, Buffer.from('user_id,a\nu1,1\n'))
      const begun = performance.now()
      while (!signal.aborted && (await stack.mailsTo(other.email)).length === 0) await pauseFor(signal, 200)
      const { rows } = await sql<{ strangers: number; lured: number; members: number }>`
        select
          (select count(*)::int from mails where app_id = ${appId} and recipient <> ${email} and event like 'import:%')
            as strangers,
          (select count(*)::int from mails where app_id = ${appId} and subject like '%evil.example%') as lured,
          (select count(*)::int from members where app_id = ${appId}) as members
      `.execute(stack.db)
      const [{ strangers = -1, lured = -1, members = -1 } = {}] = rows
      return {
        'mails to strangers': strangers,
        'subjects with the lure': lured,
        members,
        'honest mail, s': honest === '' ? -1 : Math.round((performance.now() - begun) / 100) / 10,
      }
    },
    expect: (figures) => [
      ...atMost(figures, 'mails to strangers', 0),
      ...atMost(figures, 'subjects with the lure', 0),
      ...atMost(figures, 'members', 100),
      ...atMost(figures, 'honest mail, s', 15),
    ],
  },
  {
    title: 'an import of an app with 11,000 members ends',
    async attack(context) {
      const { stack, urls } = context
      const { appId, token } = await context.openAttacker()
      await sql`
        insert into members (app_id, email) select ${appId}, 'm' || n || '-' || ${appId}::int || '@example.org'
        from generate_series(1, 11000) as n
      `.execute(stack.db)
      const importId = await upload(urls.api, token, Buffer.from('user_id,a\nu1,1\n'))
      return { 'import, s': await secondsToEnd(context, token, importId) }
    },
    expect: (figures) => atMost(figures, 'import, s', 30),
  },
]
