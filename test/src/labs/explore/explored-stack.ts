import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { addMember } from '@sluice/accounts'
import { addOperator } from '@sluice/sign-in'
import { openSampleApp } from '../../dashboard/sample-app.ts'
import { signInAddress } from '../../dashboard/sign-in-address.ts'
import { startStack } from '../../stack/running-stack.ts'

export type Role = 'member' | 'operator'
export type ExploredStack = Awaited<ReturnType<typeof startExploredStack>>

// A walk exports and imports more often than people, and its webhooks have no receiver.
const limits = { RATE_LIMIT_DASHBOARD_EXPORT: '1000/60s', RATE_LIMIT_DASHBOARD_IMPORT: '1000/60s' }
const hooks = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' }
const people = 'user_id,plan,age,city\nuser-1,gold,41,Bonn\nuser-2,,x,Ulm\nnobody,free,1,\n'

/** Starts a stack with two apps of one member, and imports that completed, failed, changed nothing and are held. */
export async function startExploredStack() {
  const stack = await startStack({ env: { ...limits, ...hooks } })
  const { dashboard: url, inbox } = await stack.info()
  assert(url && inbox)
  const shop = await openSampleApp(stack, 'Shop', 'member@example.com')
  const garden = await openSampleApp(stack, 'Garden & <b>Sons</b>', 'member@example.com')
  for (const [{ apiToken }, content, ...options] of [
    [shop, people, '--keep-changes'],
    [shop, people, '--dry-run'],
    [shop, 'name\nnobody\n'],
    [garden, people, '--keep-changes', '--hold-if', 'always'],
  ] as const) {
    const file = join(stack.home, 'people.csv')
    await writeFile(file, content)
    await stack.sluice('import', file, '--token', apiToken, '--wait', ...options)
  }
  return {
    url,
    /** Returns the address that signs in a visitor, who gets their role again if a page took it. */
    async signIn(role: Role): Promise<string> {
      if (role === 'operator') await addOperator(stack.db, 'operator@example.com')
      else for (const { appId } of [shop, garden]) await addMember(stack.db, appId, 'member@example.com')
      return await signInAddress({ db: stack.db, url }, `${role}@example.com`)
    },
    /** Returns the addresses of the dashboard in all mails, newest first. */
    async mailedAddresses(): Promise<string[]> {
      const mails = await (await fetch(`${inbox}/api/mails`)).text()
      return [...new Set(mails.match(new RegExp(`${url}/[^\\s"\\\\<]*`, 'g')))]
    },
    /** Returns the lines about errors that the processes have logged. */
    async errors(): Promise<string[]> {
      const folder = join(stack.home, 'logs')
      const logs = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
      return logs.flatMap((log) => log.split('\n')).filter((line) => /"level":"(error|fatal)"|"status":5/.test(line))
    },
    stop: stack.stop,
  }
}
