// Must be imported first: the other modules use features that older versions of Node lack, and would fail with obscure
// errors.
if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(
    `Sluice needs Node 24, and this is ${process.version}. Start it with npm start, which uses a Node 24 of its own`,
  )
  process.exit(1)
}
