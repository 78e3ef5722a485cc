# FORUMD_SECRET=whsec_… PORT=9000 ruby receiver.rb
require 'json'
require 'openssl'
require 'set'
require 'webrick' # gem install webrick, or Debian's ruby-webrick

# Verifies that the raw `body` was signed with `secret`, at most 300 s from `now_s`.
def verify(secret, header, body, now_s)
  pairs = header.split(',').map { |part| part.split('=', 2) }
  t = pairs.assoc('t')&.last.to_s
  return false unless t.match?(/\A[0-9]{1,12}\z/) && (now_s - t.to_i).abs <= 300
  return false if secret.empty? # Anyone could sign with an empty secret.

  wanted = OpenSSL::HMAC.hexdigest('SHA256', secret, "#{t}.".b + body.b)
  pairs.any? { |name, value| name == 'v1' && OpenSSL.secure_compare(value.to_s, wanted) }
end

seen = Set.new # In production store it durably, such as in a table with a unique key.
turn = Mutex.new
$stdout.sync = true

server = WEBrick::HTTPServer.new(
  BindAddress: '127.0.0.1', Port: ENV.fetch('PORT').to_i, AccessLog: [], Logger: WEBrick::Log.new(File::NULL)
)
server.mount_proc '/' do |request, response|
  body = request.body.to_s
  if verify(ENV.fetch('FORUMD_SECRET'), request['x-service-signature'].to_s, body, Time.now.to_i)
    delivery = JSON.parse(body)
    turn.synchronize do
      unless seen.include?(delivery['delivery_id'])
        delivery['items'].each { |item| puts "#{delivery['delivery_id']} #{item['title'] || item['body']}" }
        seen << delivery['delivery_id']
      end
    end
    response.status = 204
  else
    response.status = 401
  end
end
trap('TERM') { server.shutdown }
server.start
