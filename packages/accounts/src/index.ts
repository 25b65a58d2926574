export { createApp, findApp, listApps, registerToken, requireApp, UnknownApp } from './app.ts'
export { InvalidAccount, isEmail, requireEmail } from './email.ts'
export { authenticator } from './token.ts'
