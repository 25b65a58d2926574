import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { readSettings } from '@sluice/config'
import { connect } from '@sluice/database'
import { runService } from '@sluice/service'
import { openRelay, storageSettings } from '@sluice/storage'
import { createDropbox, dropboxSettings } from './server.ts'

/** How long uploads under way have to end when the process is stopped, and when it is ended by force, ms. */
const patience = 10_000
const stopDeadline = 15_000

await runService('dropbox', { stopDeadline }, async (log) => {
  const settings = readSettings(process.env, [
    ...dropboxSettings,
    ...storageSettings,
    'DATABASE_POOL',
    'DATABASE_URL',
    'DROPBOX_HOST',
    'DROPBOX_PORT',
  ])
  const onError = (error: Error) => log.warn({ err: error }, 'idle database connection lost')
  const database = connect(settings.DATABASE_URL, { connections: settings.DATABASE_POOL, onError })
  const relay = openRelay(settings)
  const server = createDropbox({ db: database.db, relay, log }, settings)
  server.http.listen(settings.DROPBOX_PORT, settings.DROPBOX_HOST)
  await once(server.http, 'listening')
  return {
    info: { address: server.http.address() },
    async stop() {
      const closed = once(server.http, 'close')
      server.http.close()
      await Promise.race([server.settled(), delay(patience, undefined, { ref: false })])
      server.http.closeAllConnections()
      await closed
      await server.settled()
      relay.close()
      await database.close()
    },
  }
})
