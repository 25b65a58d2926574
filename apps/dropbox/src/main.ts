import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { readSettings } from '@sluice/config'
import { connect } from '@sluice/database'
import { createS3Server } from '@sluice/s3-endpoint'
import { runService } from '@sluice/service'
import { openRelay, storageSettings } from '@sluice/storage'
import { authorizeSender, findSender } from './access.ts'
import { createRelayBackend } from './backend.ts'

/** How long uploads under way have to end when the process is stopped, and when it is ended by force, ms. */
const patience = 10_000
const stopDeadline = 15_000

await runService('dropbox', { stopDeadline }, async (log) => {
  const settings = readSettings(process.env, [
    ...storageSettings,
    'DATABASE_POOL',
    'DATABASE_URL',
    'DROPBOX_HOST',
    'DROPBOX_PORT',
    'ENCRYPTION_KEYS',
  ])
  const onError = (error: Error) => log.warn({ err: error }, 'idle database connection lost')
  const database = connect(settings.DATABASE_URL, { connections: settings.DATABASE_POOL, onError })
  const relay = openRelay(settings)
  const context = { db: database.db, relay, log }
  const server = createS3Server({
    backend: createRelayBackend(context, settings.S3_BUCKET),
    findCredentials: findSender(database.db, settings.ENCRYPTION_KEYS),
    authorize: authorizeSender(context, settings.S3_BUCKET),
    region: settings.S3_REGION,
    onError: (error, { requestId, method }) =>
      log.error({ err: error, request_id: requestId, method }, 'request failed'),
  })
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
