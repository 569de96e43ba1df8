// Starts `lessons lsp` and shows the places of a tested pattern. Everything else is the server's.
const vscode = require('vscode')
const { LanguageClient } = require('vscode-languageclient/node')

let client

exports.activate = async () => {
  const settings = vscode.workspace.getConfiguration('lessons')
  const options = {
    documentSelector: [{ scheme: 'file' }],
    initializationOptions: { detect: settings.get('detect'), guards: settings.get('guards') },
    middleware: {
      async executeCommand(command, args, next) {
        const places = await next(command, args)
        if (command === 'lessons.testPattern' && places?.length) {
          const found = places.map((one) => client.protocol2CodeConverter.asLocation(one))
          const card = vscode.Uri.parse(args[0])
          const line = new vscode.Position(args[1], 0)
          await vscode.commands.executeCommand('editor.action.showReferences', card, line, found)
        }
        return places
      },
    },
  }
  const server = { command: settings.get('command'), args: ['lsp'] }
  client = new LanguageClient('lessons', 'Lessons', server, options)
  await client.start()
}

exports.deactivate = () => client?.stop()
