export { deletionNotification } from './deletion-notification.ts'
export { type EndedImport, importNotification } from './import-notification.ts'
export { dueMails, enqueueMails, type MailId } from './outbox.ts'
export { type Mailer, mailSettings, openMailer, type SendOutcome } from './send.ts'
