import { open } from 'node:fs/promises'
import { requireApp } from '@sluice/accounts'
import { Failure } from '@sluice/client-cli/failure'
import { fields, localTime, sorted, table } from '@sluice/client-cli/text'
import { showUserDocument } from '@sluice/deletions'
import type { Command } from 'commander'
import { print } from '../output.ts'
import { registerFrom } from '../register-users.ts'
import { parseAppId, withDatabase } from '../stack.ts'

/** Adds `sluice users register` and `sluice users show`. */
export function addUserCommands(users: Command): void {
  const register = users
    .command('register')
    .description('register user IDs, one per line, from a file or stdin')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .option('--file <file>', 'file to read; default: stdin')
    .action(async ({ app, file }: { app: number; file?: string }) => {
      const input = file === undefined ? process.stdin : await openFile(file)
      const counts = await withDatabase(async (db) => {
        await requireApp(db, app)
        return await registerFrom(db, app, input)
      })
      print(register, counts, () =>
        fields({ Registered: counts.registered, 'Already registered': counts.already_registered }),
      )
    })

  const show = users
    .command('show')
    .description('show a user with every profile value')
    .argument('<user-id>')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .action(async (userId: string, { app }: { app: number }) => {
      const user = await withDatabase((db) => showUserDocument(db, app, userId))
      if (user === undefined)
        throw new Failure(
          `user ${JSON.stringify(userId)} is not registered`,
          1,
          `echo USER | sluice users register --app ${app} registers a user`,
        )
      print(show, user, () => {
        const values = sorted(user.profiles).map(([key, { type, value }]) => ({
          KEY: key,
          TYPE: type,
          VALUE: String(value),
        }))
        const head = fields({
          User: user.user_id,
          'Campaign target': user.campaign_target ? 'yes' : 'no',
          Deletion:
            user.deletion && `${user.deletion.state}, completes ${localTime(new Date(user.deletion.completes_at))}`,
        })
        return `${head}\n\n${table(values, 'No profile values.')}`
      })
    })
}

async function openFile(file: string): Promise<AsyncIterable<Buffer>> {
  const handle = await open(file).catch((error: Error) => {
    throw new Failure(`${file} cannot be read: ${error.message}`)
  })
  return handle.createReadStream()
}
